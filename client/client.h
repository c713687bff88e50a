// The client of a Kamino chain.
//
//   auto client = Client::Connect({{"127.0.0.1:7001", "127.0.0.1:7002"}});
//   auto put = (*client)->Put("key", "value");
//   auto got = (*client)->Get("key");      // got->value() == "value"
//
// It finds head and tail from any node, follows view changes, and retries until
// the deadline. A mutation is carried out exactly once, however often it had to
// be sent. Errors carry a reason (client/error.h). docs/use/client.md is a
// tour.
//
// Errors of all calls, besides those named at each:
//   kInvalidArgument (REASON_INVALID_ARGUMENT): found here, before sending;
//   kDeadlineExceeded: no answer in time; a mutation with
//     REASON_OUTCOME_UNKNOWN may have been carried out (GetOutcome tells),
//     without it has not been and never will be;
//   kResourceExhausted (REASON_OVERLOADED): max_outstanding, or the service
//     still overloaded;
//   kFailedPrecondition without a reason: this process is a child of the one
//     that made the client, by fork.
// A client belongs to the cluster that its seeds belong to when it connects,
// for its whole life. If a node of another cluster takes over an address, the
// client stops using that address (REASON_OTHER_CLUSTER). kInvalidArgument with
// REASON_OTHER_CLUSTER: the seeds belong to different clusters. A seed may
// answer only after Connect; from then on all calls end with this error.
#ifndef KAMINO_CLIENT_CLIENT_H_
#define KAMINO_CLIENT_CLIENT_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/chain_id.h"
#include "kamino/v1/kamino.pb.h"
#include "security/tls_files.h"

namespace kamino::transport {
class VerbsApi;  // transport/verbs/device.h
}

namespace kamino::rpc {
class ClusterIdentity;  // rpc/cluster_identity.h
class Credentials;      // rpc/credentials.h
}  // namespace kamino::rpc

namespace kamino::client {

class Runner;
class Transaction;

enum class Reads {
  kTail,
  // Get and BatchGet go to all nodes but the head in turn. What one cannot
  // answer at once, as something it comes by is being changed, goes to the
  // tail. As linearizable; docs/use/reads.md says what it costs and what it
  // gains.
  kAnyReplica,
};

struct ClientOptions {
  std::vector<std::string> seeds;  // host:port of any nodes, at least one
  // Of each call, retries included.
  absl::Duration timeout = absl::Seconds(10);
  // Calls under way at once, at least 1. More wait for their timeout (blocking
  // ones) or fail at once with kResourceExhausted (asynchronous ones). Of more
  // than 1024 mutations those that have no room in the session's window wait
  // for it, in turn.
  int max_outstanding = 1024;
  // Which chain of the cluster. 0: the only one; once it is known, calls name
  // it, and nodes of another one refuse them (REASON_UNKNOWN_CHAIN).
  ChainId chain_id = 0;
  // What calls go by once there are enough of them to be worth a connection and
  // a session: "shm", "verbs" (RDMA), "tcp" or "grpc" (a stream); "": the best
  // of these, in this order, that leads to the node. "unary": each call goes by
  // itself, as the first ones do.
  std::string carrier;
  // How long the servers keep the outcomes of this client's mutations once they
  // hear nothing of it; a second to an hour.
  absl::Duration session_lease = absl::Seconds(60);
  // The RDMA devices of this host; null: those that libibverbs finds. Others
  // are for tests.
  std::shared_ptr<transport::VerbsApi> rdma_devices;
  // Who answers reads.
  Reads reads = Reads::kTail;
  // Who this client is, and whom it believes; read again when they change. All
  // "": everything is in the clear, to this machine alone,
  security::TlsFiles tls;
  // or wherever the seeds are.
  bool insecure = false;
};

template <typename Response>
using Callback = std::function<void(absl::StatusOr<Response>)>;

// Thread-safe. Callbacks run once, on a thread of gRPC's or the library's; for
// a call that is refused here (bad argument, max_outstanding) on the caller's,
// before the call returns. They must not block, and may start asynchronous
// calls: the room of the call that ended is free by then.
class Client {
 public:
  // Waits until the chain is found, for options.timeout at most.
  // kInvalidArgument: the options are no good, or no seed is a node; with
  // REASON_OTHER_CLUSTER: the seeds are of different clusters.
  // kUnauthenticated: the certificate would be refused.
  static absl::StatusOr<std::unique_ptr<Client>> Connect(ClientOptions options);
  // Waits for the calls under way, which end early. In a child of fork it does
  // nothing.
  ~Client();

  // --- Reads: linearizable; from the tail, or as options.reads says.

  // kNotFound; kOutOfRange: [offset, offset + length) is not within the value;
  // length 0 means to its end.
  absl::StatusOr<kamino::v1::GetResponse> Get(absl::string_view key,
                                              uint64_t offset = 0,
                                              uint64_t length = 0);
  // As of one moment, in the order of the keys; absent ones have found = false.
  absl::StatusOr<kamino::v1::BatchGetResponse> BatchGet(
      const std::vector<std::string>& keys);
  // Objects in key order until `visit` returns false. When the chain changes
  // on the way the scan goes on behind the last key. `header` is that of the
  // part an object came in. The timeout is that of each part.
  absl::Status Scan(
      const kamino::v1::ScanRequest& request,
      absl::FunctionRef<bool(const kamino::v1::ReadResult& object,
                             const kamino::v1::ResponseHeader& header)>
          visit);
  // The same, by parts, each as of one moment. A range without objects has one
  // part without results.
  absl::Status ScanParts(
      const kamino::v1::ScanRequest& request,
      absl::FunctionRef<bool(const kamino::v1::ScanResponse& part)> visit);
  // Not committed is as of the answer's header.sequence; unknown: the servers
  // may have forgotten it. See kamino.proto. What names the mutation is what an
  // error with REASON_OUTCOME_UNKNOWN says: client id, number and `since`, or
  // the id of a session and number.
  absl::StatusOr<kamino::v1::GetOutcomeResponse> GetOutcome(
      uint64_t client_id, uint64_t number, uint64_t since = 0,
      bool in_session = false);

  // --- Mutations: atomic, durable on all nodes when answered.

  absl::StatusOr<kamino::v1::PutResponse> Put(absl::string_view key,
                                              absl::string_view value);
  absl::StatusOr<kamino::v1::PatchResponse> Patch(absl::string_view key,
                                                  uint64_t offset,
                                                  absl::string_view data);
  absl::StatusOr<kamino::v1::DeleteResponse> Delete(absl::string_view key);
  // request.request_id is set by the library, here and below.
  absl::StatusOr<kamino::v1::CommitResponse> Commit(
      kamino::v1::CommitRequest request);
  absl::StatusOr<kamino::v1::CallResponse> Call(absl::string_view procedure,
                                                absl::string_view arguments);

  // Runs `body` and commits what it has done; again from the start when
  // something it had read has changed, until the timeout (then kAborted,
  // REASON_CONFLICT). `body` must have no other effects. An error of `body`
  // ends it without effect and is returned, once it is known that what the body
  // had read belongs together. See client/transaction.h.
  absl::Status RunTransaction(
      absl::FunctionRef<absl::Status(Transaction&)> body);

  // --- The same without waiting.

  void GetAsync(kamino::v1::GetRequest request,
                Callback<kamino::v1::GetResponse> done);
  void BatchGetAsync(kamino::v1::BatchGetRequest request,
                     Callback<kamino::v1::BatchGetResponse> done);
  void GetOutcomeAsync(kamino::v1::GetOutcomeRequest request,
                       Callback<kamino::v1::GetOutcomeResponse> done);
  // `visit` is called for one part after the other, until it returns false;
  // then, or at the end, `done` is.
  void ScanAsync(kamino::v1::ScanRequest request,
                 std::function<bool(const kamino::v1::ScanResponse&)> visit,
                 std::function<void(const absl::Status&)> done);
  void PutAsync(kamino::v1::PutRequest request,
                Callback<kamino::v1::PutResponse> done);
  void PatchAsync(kamino::v1::PatchRequest request,
                  Callback<kamino::v1::PatchResponse> done);
  void DeleteAsync(kamino::v1::DeleteRequest request,
                   Callback<kamino::v1::DeleteResponse> done);
  void CommitAsync(kamino::v1::CommitRequest request,
                   Callback<kamino::v1::CommitResponse> done);
  void CallAsync(kamino::v1::CallRequest request,
                 Callback<kamino::v1::CallResponse> done);

  // --- The chain.

  // As known here: followed as it changes, and learnt from answers. Refresh
  // asks for it at once.
  kamino::v1::Chain chain() const;
  // The cluster that this client belongs to: for channels of its user's own.
  std::shared_ptr<const rpc::ClusterIdentity> cluster() const;
  absl::Status Refresh();
  // Of one node, wherever it is; not retried.
  absl::StatusOr<kamino::v1::GetNodeStatusResponse> NodeStatus(
      const std::string& address);
  // Attempts beyond the first, of all calls so far.
  uint64_t retries() const;
  // Of reads at nodes other than the tail (options.reads): answered; sent on to
  // the tail, as something was being changed; the same, as the node did not
  // answer. None of these is a retry.
  struct ReplicaReads {
    uint64_t answered = 0;
    uint64_t not_clean = 0;
    uint64_t failed = 0;
  };
  ReplicaReads replica_reads() const;
  // The id of the session that mutations are in; 0: of none, as yet.
  uint64_t session() const;

 private:
  Client(ClientOptions options,
         std::shared_ptr<const rpc::Credentials> credentials);

  absl::Time Deadline() const;

  const ClientOptions options_;
  std::unique_ptr<Runner> runner_;
};

}  // namespace kamino::client

#endif  // KAMINO_CLIENT_CLIENT_H_
