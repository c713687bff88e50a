// Redis, by hiredis' asynchronous API on an epoll loop of one thread.
//
// WAIT holds up whatever comes behind it on its connection, so connections are
// used in either of two ways, for writes and for reads. One for writes carries
// one batch at a time: all that has come meanwhile, and one WAIT behind it,
// which speaks for all of the batch. As many connections as operations under
// way make each batch one operation; a single one makes few and large batches,
// which cost Redis the least. Reads go over connections of their own, as many
// as there are on each at once.
//
// Flush writes to the sockets on its caller's thread. What callbacks ask for,
// and so all of a closed load, is put off until what was received is dealt
// with: what many answers lead to is sent at once.
#ifndef KAMINO_BENCH_SERVICE_REDIS_SUBJECT_H_
#define KAMINO_BENCH_SERVICE_REDIS_SUBJECT_H_

#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "bench/service/subject.h"
#include "bench/service/subjects.h"
#include "hiredis/async.h"

namespace kamino::bench::service {

class RedisSubject : public Subject {
 public:
  RedisSubject(std::string name, const RedisConnections& connections);
  ~RedisSubject() override;

  // Once, before any call: waits until all connections are there.
  absl::Status Connect(const std::string& host, int port);

  const std::string& name() const override { return name_; }
  void Put(const Object& object, Done done) override;
  void Get(const std::string& key, Done done) override;
  void PutAll(const std::vector<Object>& objects, Done done) override;
  void Flush() override;

 private:
  // A mutation: its commands are those of its objects.
  struct Write {
    std::vector<Object> objects;
    Done done;
    absl::Status status;
  };

  struct Connection {
    RedisSubject* subject = nullptr;
    redisAsyncContext* context = nullptr;  // null once it is lost
    bool connected = false;
    bool wants_write = false;
    uint32_t events = 0;  // that epoll waits for
    std::deque<Write> batch;
  };

  // mutex_, unless this thread has it: callbacks are called with it held, by
  // the loop or by Flush, and may make calls.
  class Hold;

  // Hiredis'.
  static void OnStored(redisAsyncContext*, void* reply, void* write);
  static void OnQueued(redisAsyncContext*, void* reply, void* write);
  static void OnExecuted(redisAsyncContext*, void* reply, void* write);
  static void OnReplicated(redisAsyncContext*, void* reply, void* connection);
  static void OnRead(redisAsyncContext*, void* reply, void* read);
  static void OnConnected(const redisAsyncContext* context, int status);

  absl::Status Open(const std::string& host, int port, Connection* connection);
  void Loop();
  void Handle(uint32_t events, Connection* connection);
  void Submit(Write write);
  // The rest: with mutex_ held.
  void StartBatches();
  void StartBatch(size_t writes, Connection* connection);
  void Send(Write* write, redisAsyncContext* context);
  void EndBatch(const absl::Status& status, Connection* connection);
  void WriteAll();
  void Arm(Connection* connection);
  const std::string name_;
  const int replicas_;
  int epoll_ = -1;
  int wake_ = -1;  // ends the loop
  std::thread thread_;

  absl::Mutex mutex_;
  std::atomic<std::thread::id> holder_{};  // of mutex_
  // Constant in number. Those for writes, and then those for reads.
  std::vector<std::unique_ptr<Connection>> connections_;
  const size_t writing_;
  size_t next_read_ = 0;
  std::deque<Write> waiting_;
  bool ends_ = false;
};

}  // namespace kamino::bench::service

#endif  // KAMINO_BENCH_SERVICE_REDIS_SUBJECT_H_
