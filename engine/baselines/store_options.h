// Options of a store of any scheme.
#ifndef KAMINO_ENGINE_BASELINES_STORE_OPTIONS_H_
#define KAMINO_ENGINE_BASELINES_STORE_OPTIONS_H_

#include <string>

#include "engine/pmem/file_region.h"

namespace kamino::engine {

struct StoreOptions {
  // kamino-dynamic: the undo copy's size, as a part of the heap's, in (0, 1].
  double alpha = 0.5;

  // kAuto on a file that is not on persistent memory syncs the file at each
  // drain: a commit takes as long as the disk does. kForce takes any file for
  // persistent memory: for trials, or where losing power may lose the file. For
  // libpmemobj, kForce sets PMEM_IS_PMEM_FORCE=1 in the environment, which it
  // reads once: the first store that a process opens decides for all.
  PmemMode mode = PmemMode::kAuto;

  // True: the store is made. False: it exists, closed or as a crash left it,
  // and is recovered.
  bool fresh = true;

  // Whether a thread does the scheme's work beside transactions. Without it,
  // logs fill until a transaction has to do the work: the most that a crash can
  // leave to recovery.
  bool background = true;

  // The scheme's own options, separated by commas: "group=16,scans". Empty: its
  // defaults. The scheme's document lists them.
  std::string scheme_options;

  // Only for benches: allows options with which a store survives no crash.
  // OpenStore ignores it.
  bool may_lose = false;
};

}  // namespace kamino::engine

#endif  // KAMINO_ENGINE_BASELINES_STORE_OPTIONS_H_
