// The calls of a client that do not wait for their answers. client/client.h has
// the same calls in waiting forms, and describes them and their errors.
#ifndef KAMINO_CLIENT_ASYNC_CLIENT_H_
#define KAMINO_CLIENT_ASYNC_CLIENT_H_

#include <functional>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/client_options.h"
#include "kamino/v1/kamino.pb.h"

namespace kamino::rpc {
class Credentials;  // rpc/credentials.h
}

namespace kamino::client {

class Runner;

template <typename Response>
using Callback = std::function<void(absl::StatusOr<Response>)>;

// Thread-safe. Callbacks run once, on a thread of gRPC or of the library. If a
// call is refused before sending (bad argument, max_outstanding), its callback
// runs on the caller's thread before the call returns. Callbacks must not
// block, and may start asynchronous calls: the ended call no longer counts as
// outstanding.
class AsyncClient {
 public:
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

 protected:
  // Only a Client is one.
  AsyncClient(ClientOptions options,
              std::shared_ptr<const rpc::Credentials> credentials);
  ~AsyncClient();

  // Ends outstanding calls and waits for them. Call it in the destructor of the
  // whole client, since callbacks of these calls may use the client.
  void End();
  const ClientOptions& options() const { return options_; }
  Runner* runner() const { return runner_.get(); }
  // The deadline of a call that begins now.
  absl::Time Deadline() const;

 private:
  const ClientOptions options_;
  std::unique_ptr<Runner> runner_;
};

}  // namespace kamino::client

#endif  // KAMINO_CLIENT_ASYNC_CLIENT_H_
