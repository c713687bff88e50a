// A client that speaks sessions (docs/formats/session.md), by the library's own
// connection and lanes over simulated links. It opens a session and has as many
// mutations under way as its window allows. It retries each under its number
// until an answer tells its outcome, or a VOID settles it. It goes silent, dies
// with a full window, closes its session, or continues until the end. It also
// sends old requests again, and requests out of turn.
#ifndef KAMINO_TESTS_SIMULATION_SESSION_CLIENT_H_
#define KAMINO_TESTS_SIMULATION_SESSION_CLIENT_H_

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "client/lane_pool.h"
#include "client/session/connection.h"
#include "tests/simulation/committed_log.h"
#include "tests/simulation/history.h"
#include "tests/simulation/session_records.h"
#include "tests/simulation/sim_client.h"
#include "tests/simulation/sim_node.h"
#include "tests/simulation/timed_network.h"
#include "tests/simulation/workload.h"
#include "tests/simulation/world.h"

namespace kamino::simulation {

class SessionClient final : public Process {
 public:
  struct Options {
    uint32_t window = 4;
    absl::Duration think = absl::Milliseconds(40);  // at most, between two
    uint64_t astray_percent = 0;   // of connections and calls, to any node
    uint64_t unary_percent = 10;   // of attempts, that go by themselves
    uint64_t settle_percent = 30;  // of attempts whose answer is missing: VOID
    uint64_t abandon_percent = 5;  // likewise: it never asks again
    uint64_t late_percent = 20;    // of mutations, sent once more, much later
    uint64_t stray_percent = 5;    // of its actions: a number out of turn
  };
  struct Surroundings {
    World* world;
    TimedNetwork* network;
    const SimNode::Peers* peers;
    Workload* workload;
    const CommittedLog* log;
    History* history;
    SentRequests* sent;
    SessionRecords* session_records;
  };

  SessionClient(const Surroundings& surroundings, const std::string& name,
                const Options& options);
  ~SessionClient() override;

  void Start();
  // Finishes the operations under way.
  void Stop() { stopping_ = true; }
  bool idle() const { return idle_; }

 private:
  enum class Phase {
    kAsk,   // the mutation itself
    kVoid,  // its number is to be taken, if it is not
  };
  struct Operation {
    Record* record = nullptr;
    client::Lane lane;
    Phase phase = Phase::kAsk;
    uint64_t attempt = 0;  // answers to older ones do not count
    int tries = 0;
    bool outcome_unknown = false;
    absl::Time sent;       // the latest attempt
    absl::Status refusal;  // once it is voided
  };
  // How a session ends.
  enum class Fate { kStays, kGoesSilent, kDies, kCloses };
  // The result of one attempt.
  struct CallAnswer {
    absl::Status status;
    uint64_t sequence = 0;
    std::string result;
    bool voided = false;  // the number
  };

  // --- The process and its session.

  void Revive();
  void Die();
  void GoSilent();
  void BeginSession();
  void NameSession();
  // The session has no operation under way, and begins no other.
  void EndSession();
  void CloseSession();
  void MeetFate();
  void KeepAlive();
  bool has_session() const { return lanes_->session_id() != 0; }
  void OnExpired();

  // --- Its connection.

  void Connect();
  void OnOpened(bool anew, absl::StatusOr<kamino::v1::SessionWelcome> welcome);
  void Disconnect();
  void Tick();
  // Any node, if the chain is not known.
  SimNode* Head();
  SimNode* AnyNode();
  void Learn(const kamino::v1::Chain& chain);
  void Refresh();

  // --- Its actions.

  void Think();
  void Act();
  void BeginOperation();
  Record* NewRecord();
  // A record of a request that tells only whether the session is open.
  Record* NewProbe();
  void EndProbe(Record* probe, const absl::Status& status);
  void SendStray();
  void SendLate(const replica::Mutation& request);
  void SendCopy(const replica::Mutation& request);
  void AskForOutcome();

  // --- One operation (session_operations.cc).

  void Attempt(uint64_t id);
  // A call by itself; `done` need not be called.
  void CallNode(SimNode* node, const replica::Mutation& request,
                std::function<void(const CallAnswer&)> done);
  CallAnswer ReadAnswer(const replica::Mutation& request,
                        const client::Connection::Answer& told);
  void OnAnswer(uint64_t id, uint64_t attempt, const CallAnswer& answer);
  void OnRefused(uint64_t id, const absl::Status& status);
  void Retry(uint64_t id, absl::Duration delay);
  void Finish(uint64_t id, Record::End end);
  replica::Mutation RequestOf(const Operation& operation) const;
  void NoteSent(const replica::Mutation& request);

  const Surroundings at_;
  const Options options_;
  Random random_;

  std::shared_ptr<const kamino::v1::Chain> chain_;
  Workload::Versions versions_;
  std::deque<kamino::v1::RequestId> sent_before_;  // the last few
  bool stopping_ = false;
  bool idle_ = true;

  // The process's transport; a restart makes another.
  std::unique_ptr<transport::Transport> transport_;
  std::unique_ptr<client::LanePool> lanes_;
  kamino::v1::SessionName session_;  // as the next hello names it
  Fate fate_ = Fate::kStays;
  int actions_left_ = 0;  // until it is met
  size_t given_up_ = 0;   // slots
  bool silent_ = false;
  bool closing_ = false;
  absl::Time keep_alive_at_;
  std::shared_ptr<client::Connection> connection_;
  uint64_t connecting_ = 0;  // attempts; an odd one is under way
  absl::Time give_up_at_;
  bool refreshing_ = false;
  uint64_t attempts_ = 0;                     // of all operations
  std::map<uint64_t, Operation> operations_;  // under way, by record
};

}  // namespace kamino::simulation

#endif  // KAMINO_TESTS_SIMULATION_SESSION_CLIENT_H_
