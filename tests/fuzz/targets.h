// Input of peers, each kind as a function of bytes that must return; a failing
// check ends the process. docs/testing/fuzz.md.
#ifndef KAMINO_TESTS_FUZZ_TARGETS_H_
#define KAMINO_TESTS_FUZZ_TARGETS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace kamino::fuzz {

struct Target {
  std::string name;
  void (*run)(absl::string_view bytes);
  // Inputs that are valid, to be mutated.
  std::vector<std::string> (*seeds)();
  // Another input made of one; deterministic. At most `max` bytes.
  std::string (*mutate)(const std::string& input, uint64_t seed, size_t max);
};

// Bytes that are to be a backup.
Target BackupTarget();
// Messages, links, views and requests to a chain node in each of its roles.
Target ChainTarget();
// Log entries.
Target EntryTarget();
// Frames, prefaces, rings and positions of the links.
Target LinkTarget();
// Reports of nodes to the manager, and the contents of its store.
Target ManagerTarget();
// Frames of sessions, to a node and to a client.
Target SessionTarget();
// Bytes that are to be a snapshot.
Target SnapshotTarget();
// Input before a link's peer is known: TLS, and certificates.
Target TlsTarget();

std::vector<Target> AllTargets();

// Outcome of a handshake of two ends without an attacker between them.
struct TlsRun {
  bool known = false;  // each to the other
  size_t forth = 0;    // bytes that came
  size_t back = 0;
};
TlsRun RunValidTls();

// The node's answers to the first valid input of SessionTarget.
struct SessionRun {
  int welcomes = 0;
  int fulfilled = 0;  // requests
};
SessionRun RunValidSession();

// Changes bytes of an entry, mostly with correct checksums.
std::string MutateEntry(const std::string& input, uint64_t seed, size_t max);

// Flips, cuts, repeats and moves bytes, and puts numbers at limits.
std::string MutateBytes(const std::string& input, uint64_t seed, size_t max);

}  // namespace kamino::fuzz

#endif  // KAMINO_TESTS_FUZZ_TARGETS_H_
