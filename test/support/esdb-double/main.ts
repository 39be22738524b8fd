import { EsdbDouble } from './esdb-double.ts';

/*
 * The double as a process of its own, for everything that wants a store it can reach from several processes:
 * `node test/support/esdb-double/main.ts [port]` prints its connection string and serves until SIGTERM or SIGINT. What
 * it holds is in memory only.
 */
let double = await EsdbDouble.start({ port: Number(process.argv[2] ?? 0) });
process.stdout.write(`${double.connectionString}\n`);
for (const signal of ['SIGTERM', 'SIGINT'] as const)
  process.once(signal, () => void double.stop().then(() => process.exit(0)));
// A parent that is gone needs no store.
process.once('disconnect', () => process.exit(0));

/**
 * What a parent may ask for: appends that are stored and never answered or answered with a timeout, then a restart with
 * the same log.
 */
export interface RestartRequest {
  readonly unanswered: number;
  readonly downMs: number;
}

process.on('message', ({ unanswered, downMs }: RestartRequest) => {
  const kinds = ['timeout-after-commit', 'silent-after-commit', 'unavailable-after-commit'] as const;
  const faults = Array.from({ length: unanswered }, (_, index) => ({ kind: kinds[index % kinds.length]! }));
  double.faults.plan('append', ...faults);
  void restart(downMs, unanswered);
});

/** Ends in the middle of it: some of the unanswered appends are met after the restart. */
async function restart(downMs: number, unanswered: number): Promise<void> {
  while (double.faults.left > unanswered / 2) await new Promise((wait) => setTimeout(wait, 20));
  const { log, port, faults } = double;
  await double.stop();
  await new Promise((wait) => setTimeout(wait, downMs));
  double = await EsdbDouble.start({ log, port });
  double.faults.plan(
    'append',
    ...Array.from({ length: faults.left }, () => ({ kind: 'timeout-after-commit' }) as const),
  );
}
