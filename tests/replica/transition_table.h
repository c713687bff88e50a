// Walks an object's whole table: each input in each state. The result is text,
// a line for each pair, that is compared with a file as a whole; so no added
// state or input can be missed.
#ifndef KAMINO_TESTS_REPLICA_TRANSITION_TABLE_H_
#define KAMINO_TESTS_REPLICA_TRANSITION_TABLE_H_

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "tests/replica/describe.h"

namespace kamino::replica {

// `Rig` holds the object with what it needs. It has
//   std::string StateText() const;   // its state, and what belongs to it
//   Outbox outbox;                   // the object's messages
//   std::vector<std::string> notes;  // other effects, as returned values
template <typename Rig>
class TransitionTable {
 public:
  using Step = std::function<void(Rig&)>;

  // How to bring a new Rig into the state.
  void AddState(std::string name, Step reach) {
    states_.emplace_back(std::move(name), std::move(reach));
  }
  void AddInput(std::string name, Step input) {
    inputs_.emplace_back(std::move(name), std::move(input));
  }

  std::string Walk() const {
    std::string text;
    for (const auto& [state, reach] : states_) {
      absl::StrAppend(&text, state, "\n");
      for (const auto& [name, input] : inputs_) {
        Rig rig;
        reach(rig);
        TakeEffects(rig);
        input(rig);
        const std::vector<std::string> effects = TakeEffects(rig);
        absl::StrAppend(&text,
                        absl::StrFormat("  %-34s %s\n", name, rig.StateText()));
        for (const std::string& effect : effects) {
          absl::StrAppend(&text, std::string(39, ' '), effect, "\n");
        }
      }
    }
    return text;
  }

 private:
  static std::vector<std::string> TakeEffects(Rig& rig) {
    std::vector<std::string> effects = Describe(rig.outbox.Take());
    effects.insert(effects.end(), rig.notes.begin(), rig.notes.end());
    rig.notes.clear();
    return effects;
  }

  std::vector<std::pair<std::string, Step>> states_;
  std::vector<std::pair<std::string, Step>> inputs_;
};

}  // namespace kamino::replica

#endif  // KAMINO_TESTS_REPLICA_TRANSITION_TABLE_H_
