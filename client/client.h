// The client of a Kamino chain.
//
//   auto client = Client::Connect({{"127.0.0.1:7001", "127.0.0.1:7002"}});
//   auto put = (*client)->Put("key", "value");
//   auto got = (*client)->Get("key");      // got->value() == "value"
//
// The client finds head and tail from any node, follows view changes, and
// retries until the deadline. A mutation is executed exactly once, however
// often it was sent. Errors carry a reason (client/error.h). docs/use/client.md
// is a tour.
//
// Errors of all calls, besides those named at each:
//   kInvalidArgument (REASON_INVALID_ARGUMENT): rejected before sending;
//   kDeadlineExceeded: no answer in time; a mutation with
//     REASON_OUTCOME_UNKNOWN may have been executed (see GetOutcome), one
//     without it was not and never will be;
//   kResourceExhausted (REASON_OVERLOADED): max_outstanding, or the service
//     is still overloaded;
//   kFailedPrecondition without a reason: this process was forked from the
//     process that made the client.
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
  // Get and BatchGet go in turn to all nodes except the head. If a node cannot
  // answer at once, because an object that it needs is in flight, the read goes
  // to the tail. Linearizable, too; docs/use/reads.md describes costs and
  // gains.
  kAnyReplica,
};

struct ClientOptions {
  std::vector<std::string> seeds;  // host:port of any nodes, at least one
  // The timeout of each call, including retries.
  absl::Duration timeout = absl::Seconds(10);
  // Limit of outstanding calls, at least 1. Beyond it, blocking calls wait for
  // their timeout, and asynchronous ones fail at once with kResourceExhausted.
  // If more than 1024 mutations are outstanding, those beyond the session's
  // window wait for it in turn.
  int max_outstanding = 1024;
  // The chain of the cluster. 0: the only one. Once known, calls name it, and
  // nodes of another chain refuse them (REASON_UNKNOWN_CHAIN).
  ChainId chain_id = 0;
  // The transport for calls once they are frequent enough for a connection and
  // a session: "shm", "verbs" (RDMA), "tcp" or "grpc" (a stream). "": the first
  // of these that reaches the node. "unary": each call is a gRPC call of its
  // own, as the first ones always are.
  std::string carrier;
  // How long the servers keep the outcomes of this client's mutations after its
  // last message; 1 second to 1 hour.
  absl::Duration session_lease = absl::Seconds(60);
  // The RDMA devices of this host; null: those that libibverbs finds. Tests
  // pass others.
  std::shared_ptr<transport::VerbsApi> rdma_devices;
  // The nodes that answer reads.
  Reads reads = Reads::kTail;
  // This client's certificate and the authorities that it trusts; the files are
  // read again when they change. All "": unencrypted, to this machine only,
  security::TlsFiles tls;
  // or to any seeds.
  bool insecure = false;
};

template <typename Response>
using Callback = std::function<void(absl::StatusOr<Response>)>;

// Thread-safe. Callbacks run once, on a thread of gRPC or of the library. If a
// call is refused before sending (bad argument, max_outstanding), its callback
// runs on the caller's thread before the call returns. Callbacks must not
// block, and may start asynchronous calls: the ended call no longer counts as
// outstanding.
class Client {
 public:
  // Waits until the chain is found, at most options.timeout. kInvalidArgument:
  // the options are invalid, or no seed is a node; with REASON_OTHER_CLUSTER:
  // the seeds belong to different clusters. kUnauthenticated: the certificate
  // would be refused.
  static absl::StatusOr<std::unique_ptr<Client>> Connect(ClientOptions options);
  // Waits for outstanding calls, which end early. A no-op in a forked child.
  ~Client();

  // --- Reads: linearizable; from the tail, or as options.reads says.

  // kNotFound. kOutOfRange: [offset, offset + length) exceeds the value. length
  // 0: to the end.
  absl::StatusOr<kamino::v1::GetResponse> Get(absl::string_view key,
                                              uint64_t offset = 0,
                                              uint64_t length = 0);
  // As of one moment, in the order of the keys; absent keys have found = false.
  absl::StatusOr<kamino::v1::BatchGetResponse> BatchGet(
      const std::vector<std::string>& keys);
  // Visits objects in key order until `visit` returns false. After a view
  // change the scan continues behind the last key. `header` is that of the part
  // that holds the object. The timeout applies to each part.
  absl::Status Scan(
      const kamino::v1::ScanRequest& request,
      absl::FunctionRef<bool(const kamino::v1::ReadResult& object,
                             const kamino::v1::ResponseHeader& header)>
          visit);
  // The same by parts, each as of one moment. A range without objects has one
  // part without results.
  absl::Status ScanParts(
      const kamino::v1::ScanRequest& request,
      absl::FunctionRef<bool(const kamino::v1::ScanResponse& part)> visit);
  // Names the mutation as an error with REASON_OUTCOME_UNKNOWN does: client id,
  // number and `since`, or session id and number. kamino.proto defines the
  // outcomes: not committed is as of the answer's header.sequence; unknown
  // means that the servers may have dropped the outcome.
  absl::StatusOr<kamino::v1::GetOutcomeResponse> GetOutcome(
      uint64_t client_id, uint64_t number, uint64_t since = 0,
      bool in_session = false);

  // --- Mutations: atomic, and durable on all nodes once answered.

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

  // Runs `body` and commits its writes. If data that it read has changed, runs
  // it again, until the timeout (kAborted, REASON_CONFLICT). `body` must have
  // no other effects. An error of `body` ends the transaction without effect;
  // it is returned once the reads are known to be consistent. See
  // client/transaction.h.
  absl::Status RunTransaction(
      absl::FunctionRef<absl::Status(Transaction&)> body);

  // --- The same without waiting.

  void GetAsync(kamino::v1::GetRequest request,
                Callback<kamino::v1::GetResponse> done);
  void BatchGetAsync(kamino::v1::BatchGetRequest request,
                     Callback<kamino::v1::BatchGetResponse> done);
  void GetOutcomeAsync(kamino::v1::GetOutcomeRequest request,
                       Callback<kamino::v1::GetOutcomeResponse> done);
  // Calls `visit` for each part in turn until it returns false, and then
  // `done`.
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

  // The last known chain. The client updates it on view changes and from
  // answers; Refresh fetches it at once.
  kamino::v1::Chain chain() const;
  // The cluster that this client belongs to, for the caller's own channels.
  std::shared_ptr<const rpc::ClusterIdentity> cluster() const;
  absl::Status Refresh();
  // Asks the node at that address; not retried.
  absl::StatusOr<kamino::v1::GetNodeStatusResponse> NodeStatus(
      const std::string& address);
  // Retries of all calls so far.
  uint64_t retries() const;
  // Reads at nodes other than the tail (options.reads): answered; sent on to
  // the tail because an object was in flight; sent on because the node did not
  // answer. None of these is a retry.
  struct ReplicaReads {
    uint64_t answered = 0;
    uint64_t not_clean = 0;
    uint64_t failed = 0;
  };
  ReplicaReads replica_reads() const;
  // The id of the mutations' session; 0: none yet.
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
