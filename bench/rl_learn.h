// Learning beside libtorch: whole DQN updates (sample, unpack, forward online and target, double and dueling targets,
// weighted Huber loss, backward, Adam with a clipped norm, Polyak, new priorities), and draws from the replay alone.
#pragma once
#include "ingot/rl.h"
#include "torch_peer.h"

namespace ingot::bench {

struct TorchQNet : torch::nn::Module {
  std::vector<torch::nn::Linear> linears;
  std::vector<torch::nn::LayerNorm> norms;
  torch::nn::Linear advantage = nullptr, value = nullptr;
  explicit TorchQNet(int64_t in, const std::vector<int64_t>& hidden, int64_t actions) {
    for (const int64_t width : hidden) {
      const std::string i = std::to_string(linears.size());
      linears.push_back(register_module("linear" + i, torch::nn::Linear(in, width)));
      norms.push_back(
          register_module("norm" + i, torch::nn::LayerNorm(torch::nn::LayerNormOptions(std::vector<int64_t>{width}))));
      in = width;
    }
    advantage = register_module("advantage", torch::nn::Linear(in, actions));
    value = register_module("value", torch::nn::Linear(in, 1));
  }
  at::Tensor forward(at::Tensor x) {
    for (size_t i = 0; i < linears.size(); i++) x = torch::relu(norms[i](linears[i](x)));
    const auto a = advantage(x);
    return value(x) + a - a.mean(1, true);
  }
};

// The same update in libtorch, from tensors that are filled already.
struct TorchDqnUpdate {
  TorchQNet online, target;
  torch::optim::Adam adam;
  explicit TorchDqnUpdate(const rl::DqnOptions& o)
      : online(144, o.net.hidden, 6),
        target(144, o.net.hidden, 6),
        adam(online.parameters(), torch::optim::AdamOptions(o.lr)) {}

  void copy_from(rl::DqnUpdate& ours) {
    const torch::NoGradGuard guard;
    const auto parameters = ours.online().parameters();
    const auto list = online.parameters(), list_target = target.parameters();
    for (size_t i = 0; i < list.size(); i++) {
      const at::Tensor from = torch_view(parameters[i].tensor);
      list[i].copy_(i == 0 ? from.t() : from);  // rows to gather are columns to multiply
      list_target[i].copy_(list[i]);
    }
  }

  at::Tensor run(const TorchBatch& b, double clip, double tau) {  // state, next, action, reward, discount, weight
    at::Tensor y;
    {
      const torch::NoGradGuard guard;
      y = b[3] + b[4] * target.forward(b[1]).gather(1, online.forward(b[1]).argmax(1, true)).squeeze(1);
    }
    online.zero_grad(true);
    const at::Tensor q = online.forward(b[0]).gather(1, b[2]).squeeze(1);
    const at::Tensor loss = (b[5] * torch::huber_loss(q, y, at::Reduction::None)).mean();
    loss.backward();
    torch::nn::utils::clip_grad_norm_(online.parameters(), clip);
    adam.step();
    {
      const torch::NoGradGuard guard;
      const auto from = online.parameters(), to = target.parameters();
      for (size_t i = 0; i < to.size(); i++) to[i].lerp_(from[i], tau);
      errors = (y - q).detach();
    }
    return loss.detach();
  }
  at::Tensor errors;
};

// Both sides draw from a replay of 50,000 transitions of the 2 x 2 x 2 and give it new priorities; ours writes indices
// of stickers, libtorch's ones and zeros, each what it is fastest with.
inline void dqn_update(Suite& suite, int64_t batch) {
  const std::string label = "dqn-update-b" + std::to_string(batch);
  if (!suite.wants(label)) return;
  using Env = rl::PuzzleEnv<rl::Cube2>;
  const Env env{.depth = 6, .limit = 20};
  const rl::DqnOptions o{.lr = 1e-4F, .lr_end = 1e-4F, .batch = batch};
  rl::DqnUpdate ours(rl::input_of(env), 6, o);
  rl::Replay<Env::Code> replay({.capacity = 50'000, .environments = 50, .n_step = 3, .prioritised = true});
  rl::Player<Env> player(env, 50, ours.online(), 1);
  for (int i = 0; i < 1000; i++) player.step(1), replay.push(player.transitions());

  const rl::DqnUpdate::Batch& b = ours.batch();
  const Tensor state = Tensor::empty({batch, 144}), next = Tensor::empty({batch, 144});
  std::vector<int64_t> slots(static_cast<size_t>(batch));
  const auto draw = [&](const auto& observe) {
    replay.sample(0.5, slots, {b.weight.data<float>(), slots.size()});
    for (size_t i = 0; i < slots.size(); i++) {
      const rl::Window<Env::Code> w = replay.window(slots[i]);
      observe(w, static_cast<int64_t>(i));
      b.action.data<int64_t>()[i] = w.action;
      b.reward.data<float>()[i] = w.reward, b.discount.data<float>()[i] = w.discount;
    }
  };
  const auto draw_ours = [&] {
    draw([&](const auto& w, int64_t i) {
      rl::observe_row(env, w.state, b.state, i), rl::observe_row(env, w.next, b.next, i);
    });
  };
  const auto draw_theirs = [&] {
    draw([&](const auto& w, int64_t i) {
      env.observe(w.state, {state.data<float>() + 144 * i, 144}),
          env.observe(w.next, {next.data<float>() + 144 * i, 144});
    });
  };

  TorchDqnUpdate theirs(o);
  theirs.copy_from(ours);
  const TorchBatch torch_batch = torch_view(Batch{state, next, b.action, b.reward, b.discount, b.weight});
  draw_ours();
  for (int64_t i = 0; i < batch; i++) {
    const rl::Window<Env::Code> w = replay.window(slots[static_cast<size_t>(i)]);
    env.observe(w.state, {state.data<float>() + 144 * i, 144}),
        env.observe(w.next, {next.data<float>() + 144 * i, 144});
  }
  use(openblas(), 1);
  check_same(label, "the loss", at::scalar_tensor(ours.run()), theirs.run(torch_batch, o.clip_norm, o.tau), 1e-4);

  suite.compare(label,
                [&] {
                  draw_ours();
                  ours.run();
                  replay.set_priorities(slots, ours.td_errors());
                },
                libtorch("",
                         [&] {
                           draw_theirs();
                           theirs.run(torch_batch, o.clip_norm, o.tau);
                           replay.set_priorities(slots, {theirs.errors.data_ptr<float>(), slots.size()});
                         }),
                {1, "updates"});
  suite.compare("replay-sample-b" + std::to_string(batch), draw_ours, {}, {static_cast<double>(batch), "transitions"});
}

}  // namespace ingot::bench
