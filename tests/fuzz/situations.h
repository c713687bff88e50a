// Where a fuzzed chain node begins: a disk that a real chain left, a place in
// the chain, and what its neighbours went on to send it.
#ifndef KAMINO_TESTS_FUZZ_SITUATIONS_H_
#define KAMINO_TESTS_FUZZ_SITUATIONS_H_

#include <string>
#include <vector>

#include "membership/view.h"
#include "tests/fuzz/chain_script.h"
#include "tests/node/driver/chain_rig.h"

namespace kamino::fuzz {

struct Situation {
  std::string name;
  node::ChainRig::Snapshot snapshot;
  membership::View view;  // the first that it learns of
  Script script;          // what really happened to it then
};

// Made once.
const std::vector<Situation>& Situations();

}  // namespace kamino::fuzz

#endif  // KAMINO_TESTS_FUZZ_SITUATIONS_H_
