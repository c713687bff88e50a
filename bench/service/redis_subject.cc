#include "bench/service/redis_subject.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/status_macros.h"

namespace kamino::bench::service {
namespace {

constexpr int kEventsAtOnce = 64;

absl::Status Lost() {
  return absl::UnavailableError("the connection to Redis is lost");
}

// The error of a reply that has to be of `type`.
absl::Status Check(const redisReply* reply, int type) {
  if (reply == nullptr) return Lost();
  if (reply->type == REDIS_REPLY_ERROR) {
    return absl::InternalError(absl::StrCat("Redis: ", reply->str));
  }
  if (reply->type != type) {
    return absl::InternalError(
        absl::StrCat("Redis: a reply of type ", reply->type));
  }
  return absl::OkStatus();
}

// False: the connection is being given up, and `callback` will not be called.
bool Command(redisAsyncContext* context, redisCallbackFn* callback, void* data,
             std::initializer_list<absl::string_view> words) {
  const char* pointers[4];
  size_t lengths[4];
  int count = 0;
  for (absl::string_view word : words) {
    pointers[count] = word.data();
    lengths[count++] = word.size();
  }
  return ::redisAsyncCommandArgv(context, callback, data, count, pointers,
                                 lengths) == REDIS_OK;
}

}  // namespace

class RedisSubject::Hold {
 public:
  explicit Hold(RedisSubject* subject)
      : subject_(subject),
        outermost_(subject->holder_ != std::this_thread::get_id()) {
    if (!outermost_) return;
    subject_->mutex_.Lock();
    subject_->holder_ = std::this_thread::get_id();
  }
  ~Hold() {
    if (!outermost_) return;
    subject_->holder_ = std::thread::id();
    subject_->mutex_.Unlock();
  }
  Hold(const Hold&) = delete;
  Hold& operator=(const Hold&) = delete;

  // Otherwise the outermost holder goes on to write.
  bool outermost() const { return outermost_; }

 private:
  RedisSubject* const subject_;
  const bool outermost_;
};

RedisSubject::RedisSubject(std::string name,
                           const RedisConnections& connections)
    : name_(std::move(name)),
      replicas_(connections.replicas),
      writing_(static_cast<size_t>(connections.writing)) {
  for (int i = 0; i < connections.writing + connections.reading; ++i) {
    connections_.push_back(std::make_unique<Connection>());
    connections_.back()->subject = this;
  }
}

RedisSubject::~RedisSubject() {
  if (thread_.joinable()) {
    {
      absl::MutexLock lock(&mutex_);
      ends_ = true;
    }
    ::eventfd_write(wake_, 1);
    thread_.join();
  }
  for (const auto& connection : connections_) {
    if (connection->context != nullptr) ::redisAsyncFree(connection->context);
  }
  if (wake_ >= 0) ::close(wake_);
  if (epoll_ >= 0) ::close(epoll_);
}

absl::Status RedisSubject::Connect(const std::string& host, int port) {
  epoll_ = ::epoll_create1(EPOLL_CLOEXEC);
  wake_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  epoll_event event = {};
  event.events = EPOLLIN;
  if (epoll_ < 0 || wake_ < 0 ||
      ::epoll_ctl(epoll_, EPOLL_CTL_ADD, wake_, &event) != 0) {
    return absl::ErrnoToStatus(errno, "epoll");
  }
  for (const auto& connection : connections_) {
    RETURN_IF_ERROR(Open(host, port, connection.get()));
  }
  absl::MutexLock lock(&mutex_);
  thread_ = std::thread([this] { Loop(); });
  const auto settled = [this] {
    return std::all_of(
        connections_.begin(), connections_.end(), [](const auto& connection) {
          return connection->connected || connection->context == nullptr;
        });
  };
  if (!mutex_.AwaitWithTimeout(absl::Condition(&settled), kCallTimeout)) {
    return absl::DeadlineExceededError("Redis does not answer");
  }
  for (const auto& connection : connections_) {
    if (connection->context == nullptr) return Lost();
  }
  return absl::OkStatus();
}

absl::Status RedisSubject::Open(const std::string& host, int port,
                                Connection* connection) {
  redisAsyncContext* const context = ::redisAsyncConnect(host.c_str(), port);
  if (context == nullptr) return absl::ResourceExhaustedError("hiredis");
  connection->context = context;
  if (context->err != 0) {
    return absl::UnavailableError(absl::StrCat("Redis: ", context->errstr));
  }
  connection->events = EPOLLIN | EPOLLOUT;
  epoll_event event = {};
  event.events = connection->events;
  event.data.ptr = connection;
  if (::epoll_ctl(epoll_, EPOLL_CTL_ADD, context->c.fd, &event) != 0) {
    return absl::ErrnoToStatus(errno, "epoll");
  }
  context->data = connection;
  context->ev.data = connection;
  // It is always read from.
  context->ev.addWrite = [](void* data) {
    static_cast<Connection*>(data)->wants_write = true;
  };
  context->ev.delWrite = [](void* data) {
    static_cast<Connection*>(data)->wants_write = false;
  };
  context->ev.cleanup = [](void* data) {
    static_cast<Connection*>(data)->context = nullptr;
  };
  ::redisAsyncSetConnectCallback(context, &RedisSubject::OnConnected);
  return absl::OkStatus();
}

// --- The loop.

void RedisSubject::Loop() {
  ::pthread_setname_np(::pthread_self(), "redis-client");
  epoll_event events[kEventsAtOnce];
  for (;;) {
    const int count = ::epoll_wait(epoll_, events, kEventsAtOnce, -1);
    const Hold hold(this);
    if (ends_) return;
    for (int i = 0; i < count; ++i) {
      Handle(events[i].events, static_cast<Connection*>(events[i].data.ptr));
    }
    StartBatches();
    WriteAll();
  }
}

void RedisSubject::Flush() {
  const Hold hold(this);
  if (!hold.outermost()) return;
  StartBatches();
  WriteAll();
}

void RedisSubject::Handle(uint32_t events, Connection* connection) {
  // Each may lose the connection.
  if (connection->context != nullptr && (events & EPOLLOUT) != 0) {
    ::redisAsyncHandleWrite(connection->context);
  }
  if (connection->context != nullptr && (events & ~EPOLLOUT) != 0) {
    ::redisAsyncHandleRead(connection->context);
  }
}

void RedisSubject::OnConnected(const redisAsyncContext* context, int status) {
  // hiredis cleans up a lost connection.
  static_cast<Connection*>(context->data)->connected = status == REDIS_OK;
}

void RedisSubject::WriteAll() {
  for (const auto& connection : connections_) {
    if (connection->context != nullptr && connection->wants_write &&
        connection->connected) {
      ::redisAsyncHandleWrite(connection->context);
    }
    if (connection->context != nullptr) Arm(connection.get());
  }
}

void RedisSubject::Arm(Connection* connection) {
  const uint32_t wanted =
      EPOLLIN | (connection->wants_write ? EPOLLOUT : EPOLL_EVENTS{});
  if (connection->events == wanted) return;
  connection->events = wanted;
  epoll_event event = {};
  event.events = wanted;
  event.data.ptr = connection;
  ::epoll_ctl(epoll_, EPOLL_CTL_MOD, connection->context->c.fd, &event);
}

// --- Writes.

void RedisSubject::Put(const Object& object, Done done) {
  Submit({{object}, std::move(done), absl::OkStatus()});
}

void RedisSubject::PutAll(const std::vector<Object>& objects, Done done) {
  Submit({objects, std::move(done), absl::OkStatus()});
}

void RedisSubject::Submit(Write write) {
  const Hold hold(this);
  waiting_.push_back(std::move(write));
}

// Divides the waiting writes among the connections that carry no batch.
void RedisSubject::StartBatches() {
  bool alive = false;
  std::vector<Connection*> idle;
  for (size_t i = 0; i < writing_; ++i) {
    Connection* const connection = connections_[i].get();
    alive |= connection->context != nullptr;
    if (connection->context != nullptr && connection->batch.empty()) {
      idle.push_back(connection);
    }
  }
  for (size_t i = 0; i < idle.size() && !waiting_.empty(); ++i) {
    const size_t share =
        (waiting_.size() + idle.size() - i - 1) / (idle.size() - i);
    StartBatch(share, idle[i]);
  }
  while (!alive && !waiting_.empty()) {
    const Write write = std::move(waiting_.front());
    waiting_.pop_front();
    write.done(Lost(), "");
  }
}

void RedisSubject::StartBatch(size_t writes, Connection* connection) {
  const auto end = waiting_.begin() + static_cast<ptrdiff_t>(writes);
  std::move(waiting_.begin(), end, std::back_inserter(connection->batch));
  waiting_.erase(waiting_.begin(), end);
  for (Write& write : connection->batch) Send(&write, connection->context);
  Command(connection->context, &RedisSubject::OnReplicated, connection,
          {"WAIT", absl::StrCat(replicas_),
           absl::StrCat(absl::ToInt64Milliseconds(kCallTimeout))});
}

void RedisSubject::Send(Write* write, redisAsyncContext* context) {
  if (write->objects.size() == 1) {
    const Object& object = write->objects.front();
    Command(context, &RedisSubject::OnStored, write,
            {"SET", object.key, object.value});
    return;
  }
  Command(context, &RedisSubject::OnStored, write, {"MULTI"});
  for (const Object& object : write->objects) {
    Command(context, &RedisSubject::OnQueued, write,
            {"SET", object.key, object.value});
  }
  Command(context, &RedisSubject::OnExecuted, write, {"EXEC"});
}

void RedisSubject::OnStored(redisAsyncContext*, void* reply, void* write) {
  static_cast<Write*>(write)->status.Update(
      Check(static_cast<redisReply*>(reply), REDIS_REPLY_STATUS));
}

void RedisSubject::OnQueued(redisAsyncContext*, void* reply, void* write) {
  OnStored(nullptr, reply, write);
}

void RedisSubject::OnExecuted(redisAsyncContext*, void* reply, void* write) {
  auto* const of = static_cast<Write*>(write);
  const auto* const all = static_cast<redisReply*>(reply);
  absl::Status status = Check(all, REDIS_REPLY_ARRAY);
  if (status.ok() && all->elements != of->objects.size()) {
    status = absl::AbortedError("the transaction did not succeed");
  }
  for (size_t i = 0; status.ok() && i < all->elements; ++i) {
    status = Check(all->element[i], REDIS_REPLY_STATUS);
  }
  of->status.Update(status);
}

void RedisSubject::OnReplicated(redisAsyncContext*, void* reply, void* of) {
  auto* const connection = static_cast<Connection*>(of);
  RedisSubject* const self = connection->subject;
  const auto* const count = static_cast<redisReply*>(reply);
  absl::Status status = Check(count, REDIS_REPLY_INTEGER);
  if (status.ok() && count->integer < self->replicas_) {
    status = absl::DeadlineExceededError(absl::StrCat(
        count->integer, " of ", self->replicas_, " replicas have a write"));
  }
  self->EndBatch(status, connection);
}

void RedisSubject::EndBatch(const absl::Status& status,
                            Connection* connection) {
  // Calls that are made by `done` wait for the loop.
  std::deque<Write> ended;
  ended.swap(connection->batch);
  for (Write& write : ended) {
    write.status.Update(status);
    write.done(write.status, "");
  }
}

// --- Reads.

void RedisSubject::Get(const std::string& key, Done done) {
  const Hold hold(this);
  const size_t reading = connections_.size() - writing_;
  Connection* const connection =
      connections_[writing_ + next_read_++ % reading].get();
  auto owned = std::make_unique<Done>(std::move(done));
  if (connection->context == nullptr ||
      !Command(connection->context, &RedisSubject::OnRead, owned.get(),
               {"GET", key})) {
    return (*owned)(Lost(), "");
  }
  static_cast<void>(owned.release());  // OnRead's
}

void RedisSubject::OnRead(redisAsyncContext*, void* reply, void* read) {
  const std::unique_ptr<Done> done(static_cast<Done*>(read));
  const auto* const found = static_cast<redisReply*>(reply);
  if (found != nullptr && found->type == REDIS_REPLY_NIL) {
    return (*done)(absl::NotFoundError("no such object"), "");
  }
  const absl::Status status = Check(found, REDIS_REPLY_STRING);
  (*done)(status, status.ok() ? absl::string_view(found->str, found->len) : "");
}

absl::StatusOr<std::unique_ptr<Subject>> MakeRedis(
    const std::string& name, const std::string& address,
    const RedisConnections& connections) {
  const std::pair<std::string, std::string> parts =
      absl::StrSplit(address, absl::MaxSplits(':', 1));
  int port;
  if (!absl::SimpleAtoi(parts.second, &port)) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", address, "' is not host:port"));
  }
  auto subject = std::make_unique<RedisSubject>(name, connections);
  RETURN_IF_ERROR(subject->Connect(parts.first, port));
  return subject;
}

}  // namespace kamino::bench::service
