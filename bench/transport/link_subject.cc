#include "bench/transport/link_subject.h"

#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "base/status_macros.h"
#include "bench/harness/clock.h"

namespace kamino::bench {
namespace {

using transport::Link;
using transport::LinkHandler;

// Only a link that is broken takes that long.
constexpr absl::Duration kPatience = absl::Seconds(20);

// Values of a message's first bytes that are not a time.
constexpr uint64_t kStartStream = 1;
constexpr uint64_t kEndOfStream = 2;
constexpr uint64_t kLeastStream = 100;

uint64_t TicksOf(absl::Duration duration) {
  return static_cast<uint64_t>(absl::ToDoubleNanoseconds(duration) /
                               NanosPerTick());
}

// One measurement, set up while the link is idle. Each field is used by one
// end, and passed between the threads by messages and by `mutex`.
struct Work {
  size_t bytes = 0;
  bool streams = false;
  uint64_t ticks = 0;  // how long
  Latencies* latencies = nullptr;
  // The server's, of a stream.
  uint64_t first = 0;
  uint64_t last = 0;
  uint64_t count = 0;

  absl::Mutex mutex;
  bool done ABSL_GUARDED_BY(mutex) = false;
  absl::Status failure ABSL_GUARDED_BY(mutex);

  void Finish(const absl::Status& status) {
    absl::MutexLock lock(&mutex);
    if (failure.ok()) failure = status;
    done = true;
  }
};

class End : public LinkHandler {
 public:
  End(Work* work, int processor)
      : work_(work), processor_(processor), filler_(kMostMessage) {}

  void SetLink(std::shared_ptr<Link> link) { link_ = std::move(link); }

  void OnConnected(const std::shared_ptr<Link>& link) override {
    PinTo(processor_);
    link_ = link;
    work_->Finish(absl::OkStatus());
  }

  void OnClosed(const absl::Status& why) override {
    link_ = nullptr;
    work_->Finish(why);
  }

  // False: out of credits.
  bool SendStamp(uint64_t stamp, size_t bytes) {
    const absl::Status sent =
        link_->Send({reinterpret_cast<const std::byte*>(&stamp), sizeof(stamp)},
                    absl::MakeConstSpan(filler_).first(bytes - sizeof(stamp)));
    if (!sent.ok() && !absl::IsResourceExhausted(sent)) work_->Finish(sent);
    return sent.ok();
  }

 protected:
  static uint64_t StampOf(absl::Span<const std::byte> message) {
    uint64_t stamp = 0;
    std::memcpy(&stamp, message.data(), sizeof(stamp));
    return stamp;
  }

  Work* const work_;
  const int processor_;
  const std::vector<std::byte> filler_;
  std::shared_ptr<Link> link_;
};

class Client final : public End {
 public:
  explicit Client(Work* work) : End(work, 0) {}

  // Begins round trips; on any thread while none is under way.
  void Start() {
    until_ = Ticks() + work_->ticks;
    Ping();
  }

  void OnMessage(absl::Span<const std::byte> message) override {
    if (work_->streams) {
      if (StampOf(message) == kEndOfStream) {
        work_->Finish(absl::OkStatus());
      } else {
        until_ = Ticks() + work_->ticks;
        streamed_ = 0;
        Pump();
      }
      return;
    }
    const uint64_t now = Ticks();
    work_->latencies->round_trip.Add(now - sent_);
    if (now < until_) return Ping();
    work_->Finish(absl::OkStatus());
  }

  void OnWritable() override { Pump(); }

 private:
  void Ping() {
    sent_ = Ticks();
    SendStamp(sent_, work_->bytes);
  }

  // On the link's own thread. A few in any case: a rate has two ends.
  void Pump() {
    while (Ticks() < until_ || streamed_ < kLeastStream) {
      if (!SendStamp(Ticks(), work_->bytes)) return;  // OnWritable follows
      ++streamed_;
    }
    SendStamp(kEndOfStream, kLeastMessage);
  }

  uint64_t until_ = 0;  // ticks
  uint64_t sent_ = 0;
  uint64_t streamed_ = 0;
};

class Server final : public End {
 public:
  explicit Server(Work* work) : End(work, 1) {}

  void OnMessage(absl::Span<const std::byte> message) override {
    const uint64_t now = Ticks();
    const uint64_t stamp = StampOf(message);
    if (!work_->streams) {
      SendStamp(now, work_->bytes);
      work_->latencies->one_way.Add(now - stamp);
      return;
    }
    if (stamp == kStartStream || stamp == kEndOfStream) {
      SendStamp(stamp, kLeastMessage);
      return;
    }
    if (work_->count++ == 0) work_->first = now;
    work_->last = now;
  }
};

class LinkSubject final : public Subject {
 public:
  explicit LinkSubject(absl::string_view kind) : kind_(kind) {}

  absl::Status Connect(const transport::TransportFactory& factory,
                       const std::string& address,
                       const transport::TransportOptions& options) {
    ASSIGN_OR_RETURN(server_transport_, factory.Make(options));
    ASSIGN_OR_RETURN(client_transport_, factory.Make(options));
    ASSIGN_OR_RETURN(
        listener_,
        server_transport_->Listen(address, [this](std::shared_ptr<Link> link) {
          PinTo(1);
          server_->SetLink(std::move(link));
          return server_;
        }));
    RETURN_IF_ERROR(
        client_transport_->Connect(listener_->address(), client_).status());
    return Await();
  }

  const std::string& name() const override { return kind_; }

  absl::Status PingPong(size_t bytes, absl::Duration duration,
                        Latencies* latencies) override {
    Prepare(bytes, false);
    work_.latencies = latencies;
    work_.ticks = TicksOf(duration);
    client_->Start();
    return Await();
  }

  absl::StatusOr<double> Stream(size_t bytes,
                                absl::Duration duration) override {
    Prepare(bytes, true);
    work_.ticks = TicksOf(duration);
    // The answer starts the stream on the client's own thread.
    client_->SendStamp(kStartStream, kLeastMessage);
    RETURN_IF_ERROR(Await());
    const double nanos =
        static_cast<double>(work_.last - work_.first) * NanosPerTick();
    return static_cast<double>(work_.count - 1) / nanos * 1e9;
  }

 private:
  void Prepare(size_t bytes, bool streams) {
    absl::MutexLock lock(&work_.mutex);
    work_.done = false;
    work_.bytes = bytes;
    work_.streams = streams;
    work_.count = 0;
  }

  absl::Status Await() {
    absl::MutexLock lock(&work_.mutex);
    if (!work_.mutex.AwaitWithTimeout(absl::Condition(&work_.done),
                                      kPatience)) {
      return absl::DeadlineExceededError(
          absl::StrCat("a ", kind_, " link stands still"));
    }
    return work_.failure;
  }

  const std::string kind_;
  Work work_;
  std::shared_ptr<Client> client_ = std::make_shared<Client>(&work_);
  std::shared_ptr<Server> server_ = std::make_shared<Server>(&work_);
  // The listener is the server's; their threads use the above.
  std::unique_ptr<transport::Transport> server_transport_;
  std::unique_ptr<transport::Transport> client_transport_;
  std::unique_ptr<transport::Listener> listener_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Subject>> MakeLinkSubject(
    const std::string& name, const transport::TransportFactory& factory,
    const std::string& address, const transport::TransportOptions& options) {
  auto subject = std::make_unique<LinkSubject>(name);
  RETURN_IF_ERROR(subject->Connect(factory, address, options));
  return subject;
}

}  // namespace kamino::bench
