"""C++ stubs made by the system's protoc and grpc_cpp_plugin."""

def kamino_cc_proto_library(name, srcs, deps = [], grpc = False, visibility = None):
    """Compiles .proto files of this package.

    Args:
      name: the cc_library.
      srcs: .proto files, paths below this package.
      deps: other kamino_cc_proto_library targets that srcs import.
      grpc: whether to make service stubs as well.
      visibility: as usual.
    """
    # protoc finds this package here, also when another workspace uses this one.
    root = Label("//tools:proto.bzl").workspace_root
    folder = "/".join([part for part in [root, native.package_name()] if part])
    outs = []
    for src in srcs:
        base = src[:-len(".proto")]
        outs += [base + ".pb.h", base + ".pb.cc"]
        if grpc:
            outs += [base + ".grpc.pb.h", base + ".grpc.pb.cc"]
    native.filegroup(
        name = name + "_srcs",
        srcs = srcs + [dep + "_srcs" for dep in deps],
        visibility = visibility,
    )
    plugin = ("--grpc_out=$(RULEDIR) " +
              "--plugin=protoc-gen-grpc=/usr/bin/grpc_cpp_plugin ") if grpc else ""
    native.genrule(
        name = name + "_gen",
        srcs = srcs + [dep + "_srcs" for dep in deps],
        outs = outs,
        cmd = ("/usr/bin/protoc -I%s -I$(RULEDIR) -I/usr/include --cpp_out=$(RULEDIR) %s" %
               (folder, plugin)) +
              " ".join(["$(location %s)" % src for src in srcs]),
        message = "protoc",
    )
    native.cc_library(
        name = name,
        srcs = [out for out in outs if out.endswith(".cc")],
        hdrs = [out for out in outs if out.endswith(".h")],
        includes = ["."],
        copts = ["-w"],
        linkstatic = True,
        deps = deps + ["@system//:grpc" if grpc else "@system//:protobuf"],
        visibility = visibility,
    )
