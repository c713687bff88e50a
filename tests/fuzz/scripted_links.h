// Links on which only that happens which a script says, for a node under test.
#ifndef KAMINO_TESTS_FUZZ_SCRIPTED_LINKS_H_
#define KAMINO_TESTS_FUZZ_SCRIPTED_LINKS_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "absl/strings/string_view.h"
#include "transport/link.h"

namespace kamino::fuzz {

// The peers' side. Links have the numbers that the node's node::LinkHub gives
// them: 1, 3, 5... for those it opens, 2, 4, 6... for those it accepts.
class ScriptedLinks {
 public:
  // The node's side; uses this. One is made at a time.
  transport::TransportFactory Transports();

  // From now on connecting peers have this identity, and must be told nothing
  // but that they are turned away.
  void SetStranger(std::string identity) { stranger_ = std::move(identity); }

  // Each does nothing where there is no such link, or it cannot happen to it.
  void Accept();
  void Establish(uint64_t link);
  void Break(uint64_t link);
  void Message(uint64_t link, absl::string_view bytes);

  // Tells the node of what it has closed since.
  void Settle();

  // The node's calls and output since the last TakeDone.
  struct Done {
    size_t calls = 0;
    size_t bytes = 0;  // sent
  };
  Done TakeDone() { return std::exchange(done_, Done()); }

 private:
  friend class ScriptedLink;
  friend class ScriptedListener;
  friend class ScriptedTransport;

  struct End {
    std::shared_ptr<transport::LinkHandler> handler;
    std::shared_ptr<transport::Link> link;
    bool established = false;
    bool closed = false;  // by the node
  };

  // Null: there is none.
  End* Find(uint64_t link);
  void Finish(uint64_t link, const absl::Status& why);
  void FinishAll();

  std::map<uint64_t, End> ends_;
  uint64_t next_opened_ = 1;
  uint64_t next_accepted_ = 2;
  transport::AcceptCallback acceptor_;
  std::string stranger_;
  Done done_;
};

}  // namespace kamino::fuzz

#endif  // KAMINO_TESTS_FUZZ_SCRIPTED_LINKS_H_
