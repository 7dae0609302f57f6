"""Rows and configuration for verl: `train.parquet`, and what the command line names.

    python examples/trainers/verl_rows.py
    python -m verl.trainer.main_ppo data.train_files=train.parquet \\
        custom_reward_function.path=reward.py custom_reward_function.name=compute_score \\
        actor_rollout_ref.rollout.agent.agent_loop_config_path=agent_loops.yaml …
"""

from pathlib import Path

from pytest_bfcl.training import tasks, verl

AGENT_LOOPS = """\
- name: bfcl
  _target_: pytest_bfcl.extensions.training.verl_loop.BfclAgentLoop
  options: {mode: prompt, partial: true}
"""


def main() -> None:
    single = tasks("bundled", categories=["simple_python", "multiple", "parallel"])
    print(verl.write_parquet(single, "train.parquet"), "rows")
    Path("reward.py").write_text("from pytest_bfcl.extensions.training.verl import compute_score\n")
    Path("agent_loops.yaml").write_text(AGENT_LOOPS)
    row = next(iter(verl.rows(single)))
    truth = row["reward_model"]["ground_truth"]
    score = verl.compute_score(row["data_source"], "I do not know.", truth, row["extra_info"])
    print("reward of a refusal:", score)


if __name__ == "__main__":
    main()
