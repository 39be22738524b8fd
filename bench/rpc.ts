/*
 * How often the service asks providers, and how many events it writes, while nothing is open and while 10 and 100
 * orders wait: an installation with all of its processes in virtual time, for an hour of each.
 *
 *   npm run bench -- rpc
 */
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { CarriedOut } from '../test/simulation/plan/carry-out.ts';
import { MODELLED_NETWORKS, type ModelledNetwork, type Order } from '../test/simulation/plan/plan.ts';
import { GAS_FLOAT } from '../test/simulation/networks.ts';
import { START_MS, World } from '../test/simulation/world.ts';
import type { BenchSection } from './section.ts';

const OPEN = [0, 10, 100] as const;
/** Seconds of a block on the main networks, November 2026. */
const BLOCK_SEC = { ethereum: 12, bsc: 0.45, tron: 3, solana: 0.4 } as const satisfies Record<ModelledNetwork, number>;
/** Long enough for a network to count as idle. */
const WARM_UP_SEC = 1_500;
const HOUR_SEC = 3_600;

interface Counted {
  /** At the provider that was asked the most. */
  readonly most: number;
  readonly calls: number;
  readonly byCall: Readonly<Record<string, number>>;
  readonly events: number;
}

async function count(network: ModelledNetwork, open: number): Promise<Counted> {
  const order = (number: number): Order => ({
    ...{
      kind: 'order',
      atSec: 20,
      order: `order-${number}`,
      merchant: 0,
      amount: '10.00',
      currency: 'USDT',
      copies: 1,
    },
  });
  const world = new World({
    ...{ seed: 'rpc', profile: 'embedded', nodes: 1, networks: [network], providers: 2, merchants: 1 },
    ...{ sweepFrom: null, ttlSec: 4 * HOUR_SEC, reconcileSec: HOUR_SEC, secondSourceFrom: null },
    blockSec: BLOCK_SEC,
    steps: Array.from({ length: open }, (_, number) => order(number)),
  });
  const { scheduler } = world;
  const { chain, treasury } = world.chainOf(network);
  chain.give(treasury, 'native', GAS_FLOAT[network]);
  world.startNode(0);
  let isReady = false;
  const ready = world.nodes[0]!.started.then(() => world.registerMerchants()).then(() => (isReady = true));
  await scheduler.run(START_MS + 15_000, () => isReady);
  await ready;
  new CarriedOut(world).schedule();
  await scheduler.run(START_MS + WARM_UP_SEC * 1_000, () => false);
  let events = 0;
  const byCall: Record<string, number> = {};
  const byProvider = new Map<object, number>();
  chain.onAsked.push((call, provider) => {
    byCall[call] = (byCall[call] ?? 0) + 1;
    byProvider.set(provider, (byProvider.get(provider) ?? 0) + 1);
  });
  world.log.onCommitted.push(() => (events += 1));
  await scheduler.run(START_MS + (WARM_UP_SEC + HOUR_SEC) * 1_000, () => false);
  world.close();
  const counts = [...byProvider.values()];
  return { most: Math.max(0, ...counts), calls: counts.reduce((sum, one) => sum + one, 0), byCall, events };
}

/** A process of its own each: the simulation takes over the runtime. */
function countedApart(network: ModelledNetwork, open: number): Counted {
  const run = spawnSync(process.execPath, [fileURLToPath(import.meta.url), network, String(open)], {
    encoding: 'utf8',
    maxBuffer: 2 ** 28,
  });
  const line = run.stdout.trim().split('\n').at(-1) ?? '';
  if (run.status !== 0 || !line.startsWith('{'))
    throw new Error(`${network}, ${open} open: ${run.stderr.slice(-2_000)}`);
  return JSON.parse(line) as Counted;
}

export function benchRpc(): BenchSection {
  const shown = (calls: number): string => calls.toLocaleString('en');
  const rows = MODELLED_NETWORKS.map((network) => {
    const counted = OPEN.map((open) => countedApart(network, open));
    return [
      network,
      ...counted.map(({ calls, most }) => `${shown(calls)} (${shown(most)})`),
      ...[0, 2].map((at) => shown(counted[at]!.most * 24)),
      shown(counted[0]!.events * 24),
    ];
  });
  return {
    title: 'Calls of providers',
    intro:
      'Calls that the service with its signer makes in an hour, counted at two simulated providers of each network, whose blocks come at the pace of the main network and are empty. In brackets those of the provider that is asked more. Virtual time, so that nothing depends on the machine.',
    columns: [
      ...['network', 'idle', '10 open', '100 open'],
      ...['a day at one provider, idle', 'the same, 100 open', 'events a day, idle'],
    ],
    rows,
    notes: [
      'An order that waits takes no call of its own, except on Solana, where a call reads 99 token accounts: of orders younger than ten minutes every second, of others every five.',
      'TRON: a block without transactions takes a second call, which one of the main network does not. A provider without `/jsonrpc` takes another 1,200 calls an hour while idle.',
    ],
  };
}

const [network, open] = process.argv.slice(2);
if (process.argv[1] === fileURLToPath(import.meta.url))
  console.log(JSON.stringify(await count(network as ModelledNetwork, Number(open))));
