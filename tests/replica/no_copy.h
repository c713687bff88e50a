// For cores that take part in no state transfer.
#ifndef KAMINO_TESTS_REPLICA_NO_COPY_H_
#define KAMINO_TESTS_REPLICA_NO_COPY_H_

#include "replica/state/state_copy.h"

namespace kamino::replica {

class NoCopy : public StateCopy {
 public:
  void BeginSending(uint64_t) override {}
  void PrepareCut() override {}
  size_t BytesLeft() const override { return 0; }
  size_t NextChunk(std::string*) override { return 0; }
  void FinishSending(uint64_t, std::string*) override {}
  void EndSending() override {}
  void BeginReceiving() override {}
  absl::StatusOr<Taken> Take(absl::string_view) override {
    return absl::UnimplementedError("no transfer here");
  }
  absl::Status FinishReceiving(uint64_t) override {
    return absl::UnimplementedError("no transfer here");
  }
};

}  // namespace kamino::replica

#endif  // KAMINO_TESTS_REPLICA_NO_COPY_H_
