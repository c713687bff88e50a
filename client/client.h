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
#include <memory>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "client/async_client.h"
#include "client/client_options.h"
#include "kamino/v1/kamino.pb.h"

namespace kamino::rpc {
class ClusterIdentity;  // rpc/cluster_identity.h
class Credentials;      // rpc/credentials.h
}  // namespace kamino::rpc

namespace kamino::client {

class Transaction;

// Thread-safe.
class Client : public AsyncClient {
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

  // --- The chain. client/async_client.h has the calls without waiting.

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
};

}  // namespace kamino::client

#endif  // KAMINO_CLIENT_CLIENT_H_
