# Commands for users and developers. `make` lists them.
.PHONY: help packages build-packages bench-packages checkers build demo test \
  test-rdma test-upgrade test-workspace deb test-deb image test-kubernetes chaos \
  bench-chain bench-connections bench-controller bench-engine bench-failover \
  bench-schemes bench-service bench-transport crash simulate fuzz sanitize \
  lint format clean
.DEFAULT_GOAL := help

PROGRAMS := //client/cli:kamino //node:kamino_node //membership:kamino_manager \
  //node/check:kamino_check

help:
	@echo "Start"
	@echo "  make demo    install what is missing, build, run the demo (12 seconds; first"
	@echo "               build: about seven minutes on two processors)"
	@echo "  make build   build the programs: bazel-bin/client/cli/kamino,"
	@echo "               node/kamino_node, membership/kamino_manager,"
	@echo "               node/check/kamino_check"
	@echo "  make clean   remove build products"
	@echo
	@echo "Test"
	@echo "  make test    install what is missing, build and run all tests (cold build:"
	@echo "               half an hour on two processors)"
	@echo "  make lint    check style and structure"
	@echo "  make format  format the C++ sources"
	@echo "  make simulate"
	@echo "               run the cluster in the simulator, SEEDS=n (40) FIRST=seed"
	@echo "               MODE=kamino|traditional|images TRACE=1 FAULT=name"
	@echo "  make crash   explore crashes of the engine, SEEDS=n (40 of each scheme: most"
	@echo "               of an hour) FIRST=seed SCHEME=name|family PAGES=1 IMAGES=n"
	@echo "               CACHE=bytes STEPS=n PERCENT=n"
	@echo "  make chaos   faults on real processes (root), MINUTES=n (2) SEED=s"
	@echo "               MODE=kamino|traditional|traditional-dynamic|images"
	@echo "               JSON=file; CHECK=folder checks kept histories again"
	@echo "  make fuzz    fuzz the messages of peers, by libFuzzer (needs clang,"
	@echo "               libclang-rt-14-dev), MINUTES=n (2, for all targets together)"
	@echo "  make sanitize"
	@echo "               the engine's and the laboratory's tests under sanitizers"
	@echo "  make test-rdma"
	@echo "               test in virtual machines: RDMA and NVDIMM drivers,"
	@echo "               loss of power (minutes)"
	@echo "  make test-upgrade"
	@echo "               upgrade from the last release to this tree, and from this"
	@echo "               one to the next, under load (minutes; the first time"
	@echo "               builds both), ARGS=--from=COMMIT"
	@echo "  make test-workspace"
	@echo "               build programs in Bazel workspaces of their own on this one"
	@echo "               (some minutes)"
	@echo
	@echo "Package"
	@echo "  make deb     build the Debian packages, deploy/out/*.deb (15 minutes)"
	@echo "  make test-deb"
	@echo "               install, upgrade and purge them under systemd (root)"
	@echo "  make image   write the image for containers, deploy/out/kamino-image.tar"
	@echo "  make test-kubernetes"
	@echo "               the Helm chart on a real Kubernetes (root; two minutes, beside"
	@echo "               a quarter of an hour that builds Kubernetes once)"
	@echo
	@echo "Measure (results in bench/out; ARGS=flags)"
	@echo "  make bench-chain"
	@echo "               measure the chain's modes beside each other (20 minutes;"
	@echo "               QUICK=1: under three)"
	@echo "  make bench-connections"
	@echo "               what 10,000 sessions or idle connections cost a node (seven"
	@echo "               minutes; QUICK=1: 1,000 of each, 40 seconds)"
	@echo "  make bench-controller"
	@echo "               WrAP's memory controller as a model (under a minute;"
	@echo "               QUICK=1: seconds)"
	@echo "  make bench-engine"
	@echo "               measure the engine against its baselines and rivals (a"
	@echo "               quarter of an hour; QUICK=1: less data, shorter slices)"
	@echo "  make bench-failover"
	@echo "               time from a kill to the next write, and more (some"
	@echo "               minutes; QUICK=1: two)"
	@echo "  make bench-schemes"
	@echo "               all atomicity schemes beside each other, and their papers'"
	@echo "               figures (half an hour; QUICK=1: under three minutes)"
	@echo "  make bench-service"
	@echo "               measure Kamino beside Redis and etcd (half an hour;"
	@echo "               QUICK=1: three minutes)"
	@echo "  make bench-transport"
	@echo "               measure chain links over every transport (30 seconds;"
	@echo "               QUICK=1: five)"

packages:
	@deploy/install-packages

build-packages:
	@deploy/install-packages build

bench-packages:
	@deploy/install-packages build benches

build: build-packages
	@echo "building"
	@bazel build $(PROGRAMS)

demo: build
	@deploy/local/demo

# Builds the programs that check the histories of tests/chaos, with Go and Cargo,
# outside Bazel. The first build needs the network.
checkers: packages
	@tests/chaos/checkers.py

# Builds the checkers beside the tests. A test that needs a checker waits for it,
# and fails if it cannot be built.
test: packages
	@tests/chaos/checkers.py & tests/run; code=$$?; wait; exit $$code

test-upgrade: packages
	@tests/upgrade/upgrade.py $(ARGS)

MINUTES ?= 2
chaos: checkers
ifdef CHECK
	@tests/chaos/chaos.py check $(CHECK)
else
	@bazel build $(PROGRAMS) //tests/chaos/client:chaos_client \
	  //tests/chaos:libslow_syncs.so //tests/clock:libstepped_clock.so
	@tests/chaos/chaos.py run --minutes=$(MINUTES) $(if $(SEED),--seed=$(SEED)) \
	  $(if $(JSON),--json=$(JSON)) $(if $(MODE),--mode=$(MODE))
endif

deb: packages
	@echo "building"
	@deploy/build-deb

test-deb: packages
	@test -e deploy/out/kamino-server_*.deb || deploy/build-deb
	@python3 -B tests/deploy/packages.py

image: build-packages
	@echo "building"
	@bazel build --config=release $(PROGRAMS)
	@python3 -B deploy/image/build.py

test-kubernetes: packages build
	@python3 -B tests/kubernetes/run.py

test-workspace: packages
	@python3 -B tests/deploy/workspace_test.py --build

test-rdma: packages build
	@bazel build //tests/transport:link_test //tests/transport:verbs_device_test \
	  //bench/transport:bench_transport
	@python3 -B tests/vm/rig.py

# About five million images. SCHEME=name: one scheme or family (SCHEME=rewind).
# IMAGES=n: about n images of each seed; 0: all. CACHE=bytes: a model of a cache
# of that size decides which unflushed lines are durable. PAGES=1: the memory is
# a file on a disk. STEPS=n: steps of each life of a store. PERCENT=n: share of
# the crash points that a campaign explores. docs/testing/crash.md.
SEEDS ?= 40
FIRST ?= 1
crash: packages
	$(if $(FAULT),$(error make crash plants no faults: \
	  tests/engine/crash:planted_faults_test plants the engine's, \
	  lab/tests/crash:planted_faults_test those of other schemes, \
	  make simulate FAULT=name those of nodes))
	@bazel run //tests/engine/crash:crash_main -- --seeds=$(SEEDS) \
	  --first=$(FIRST) --scheme=$(SCHEME) $(if $(IMAGES),--images=$(IMAGES)) \
	  $(if $(CACHE),--cache_bytes=$(CACHE)) $(if $(PAGES),--pages) \
	  $(if $(STEPS),--steps=$(STEPS)) $(if $(PERCENT),--percent=$(PERCENT))

# TRACE=1 prints the events; FAULT=name plants a fault.
# docs/testing/simulation.md.
SIMULATE = simulate_$(if $(FAULT),faulty,main)
simulate: packages
	@bazel build //tests/simulation:$(SIMULATE)
	@bazel-bin/tests/simulation/$(SIMULATE) --seeds=$(SEEDS) \
	  --first=$(FIRST) $(if $(MODE),--mode=$(MODE)) \
	  $(if $(FAULT),--fault=$(FAULT)) $(if $(filter-out 0,$(TRACE)),--trace)

# MINUTES is the time of all targets together. docs/testing/fuzz.md.
fuzz: packages
	@tests/fuzz/run $(MINUTES)

# AddressSanitizer omits the tests with the tag "no_sanitize", such as those of
# planted faults. ThreadSanitizer runs only the tests with the tag "threads".
sanitize: packages
	@bazel test --config=asan //tests/engine/... //lab/tests/...
	@bazel test --config=tsan //tests/engine/... //lab/tests/...

bench-chain: bench-packages
	@echo "building"
	@bazel build --config=release $(PROGRAMS) //bench/service:bench_service
	@mkdir -p bench/out
	@bench/chain/chain.py --out=bench/out/chain.json \
	  $(if $(filter-out 0,$(QUICK)),--quick) $(ARGS)
	@bench/report/report.py bench/out/chain.json bench/out

bench-connections: bench-packages
	@echo "building"
	@bazel build --config=release $(PROGRAMS) //bench/connections:bench_connections
	@mkdir -p bench/out
	@bench/connections/connections.py --out=bench/out/connections.json \
	  $(if $(filter-out 0,$(QUICK)),--quick) $(ARGS)
	@bench/report/report.py bench/out/connections.json bench/out

bench-controller: bench-packages
	@echo "building"
	@bazel build -c opt //lab/controller:bench_controller
	@mkdir -p bench/out
	@bazel-bin/lab/controller/bench_controller --out=bench/out/controller.json \
	  $(if $(filter-out 0,$(QUICK)),--quick) $(ARGS)
	@bench/report/report.py bench/out/controller.json bench/out

bench-engine: bench-packages
	@echo "building"
	@bazel build --config=release //bench/engine:bench_engine \
	  //bench/pmem_shim:libpmem_shim.so
	@mkdir -p bench/out
	@bazel-bin/bench/engine/bench_engine --out=bench/out/engine.json \
	  $(if $(filter-out 0,$(QUICK)),--quick) $(BENCH_FLAGS) $(ARGS)
ifeq ($(filter --list --help -h,$(ARGS)),)
	@bench/report/report.py bench/out/engine.json bench/out
endif
ifndef ARGS
	@LD_PRELOAD=bazel-bin/bench/pmem_shim/libpmem_shim.so \
	  bazel-bin/bench/engine/bench_engine --out=bench/out/drains.json \
	  --pmem_delay_drain_ns=0,100,200,300,500,1000 \
	  --schemes=kamino-simple,undo-own,undo-object \
	  --only='^micro/overwrite-.*/hot/1/|^ycsb/ycsb-[af]/zipfian/1/' \
	  $(if $(filter-out 0,$(QUICK)),--quick) $(BENCH_FLAGS)
	@bench/report/report.py bench/out/drains.json bench/out
endif

bench-failover: packages
	@echo "building"
	@bazel build $(PROGRAMS) //tests/chaos/client:chaos_client
	@mkdir -p bench/out
	@bench/failover/failover.py --out=bench/out/failover.json \
	  $(if $(filter-out 0,$(QUICK)),--quick) $(BENCH_FLAGS) $(ARGS)
	@bench/report/report.py bench/out/failover.json bench/out

bench-schemes: bench-packages
	@echo "building"
	@bazel build --config=release //bench/engine:bench_engine \
	  //lab/schemes:bench_schemes //lab/crash_model:bench_crash_model \
	  //lab/controller:bench_controller //bench/pmem_shim:libpmem_shim.so
	@mkdir -p bench/out
	@lab/schemes/schemes.py --pages=bench/out \
	  $(if $(filter-out 0,$(QUICK)),--quick) $(ARGS)

bench-service: bench-packages
	@echo "building"
	@bazel build --config=release $(PROGRAMS) //bench/service:bench_service
	@mkdir -p bench/out
	@bench/service/service.py --out=bench/out/service.json \
	  $(if $(filter-out 0,$(QUICK)),--quick) $(ARGS)
	@bench/report/report.py bench/out/service.json bench/out

bench-transport: bench-packages
	@echo "building"
	@bazel build -c opt //bench/transport:bench_transport
	@mkdir -p bench/out
	@bazel-bin/bench/transport/bench_transport --out=bench/out/transport.json \
	  $(if $(filter-out 0,$(QUICK)),--quick) $(BENCH_FLAGS) $(ARGS)
	@bench/report/report.py bench/out/transport.json bench/out

lint: packages
	@bazel test //tests/tidy:all

format:
	@git ls-files '*.cc' '*.h' | xargs clang-format -i

clean:
	@bazel clean
