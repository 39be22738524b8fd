import { EsdbDouble } from './esdb-double.ts';

/*
 * The double as a process of its own, for everything that wants a store it can reach from several processes:
 * `node test/support/esdb-double/main.ts [port]` prints its connection string and serves until SIGTERM or SIGINT. What it holds is in
 * memory only.
 */
const double = await EsdbDouble.start({ port: Number(process.argv[2] ?? 0) });
process.stdout.write(`${double.connectionString}\n`);
for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => void double.stop().then(() => process.exit(0)));
