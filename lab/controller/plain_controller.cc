#include "lab/controller/controller.h"

namespace kamino::bench::controller {
namespace {

class PlainController final : public Controller {
 public:
  explicit PlainController(const Machine& machine)
      : scm_(machine.device, machine.scm_slowdown, machine.channel_queue),
        log_(machine.device, machine.scm_slowdown, machine.channel_queue) {}

  Fetched Miss(Time now, LineNumber line) override {
    return {scm_.Read(now, line).at, home_.Read(line)};
  }
  void Evict(Time now, LineNumber line, const LineData& data) override {
    Flush(now, line, data);
  }
  Channel::Done Flush(Time now, LineNumber line,
                      const LineData& data) override {
    home_.Write(line, data);
    return scm_.Write(now, line);
  }
  Channel::Done WriteLog(Time now, LineNumber line) override {
    return log_.Write(now, line);
  }
  std::optional<WrapNumber> OpenWrap(Time, Actor*) override { return 0; }
  void CloseWrap(Time, WrapNumber, Bucket) override {}
  LineData Visible(LineNumber line) override { return home_.Read(line); }
  ControllerCounts counts() const override {
    ControllerCounts counts;
    counts.scm = scm_.counts();
    counts.log = log_.counts();
    return counts;
  }

 private:
  Channel scm_;
  Channel log_;
  Home home_;
};

}  // namespace

std::unique_ptr<Controller> MakePlainController(const Machine& machine) {
  return std::make_unique<PlainController>(machine);
}

}  // namespace kamino::bench::controller
