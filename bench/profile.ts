import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Settings under which Node leaves a profile of each thread in a folder when it ends. */
export const profiling = (folder: string): Readonly<Record<string, string>> => ({
  BENCH_PROFILES: folder,
  NODE_OPTIONS: [
    `--import ${join(import.meta.dirname, 'profiled-threads.mjs')}`,
    `--cpu-prof --cpu-prof-dir=${folder} --cpu-prof-name=main.cpuprofile`,
  ].join(' '),
});

/** The monotonic clock that profiles are timed by, in microseconds. */
export const clockUs = (): number => Number(process.hrtime.bigint() / 1_000n);

/** What is done in which place, the more special one first. */
const STEPS: readonly (readonly [step: string, places: RegExp])[] = [
  ['checks of the look-ups', /^src\/features\/audit\//],
  ['webhooks: notifications, order, signatures, sending', /^src\/(features\/webhooks|adapters\/webhook-http)\//],
  ['chains: requests, proofs, matching, finality', /^src\/(adapters\/(evm|rpc)|features\/(deposits|addresses))\//],
  ['metadata to be searched', /^src\/features\/sessions\/metadata-index/],
  ['requests: signatures, schemas, sealing, answers', /^src\/(http|features|runtime\/util|adapters\/wallet)\//],
  ['figures and traces', /^src\/observability\//],
  ['rows: as text, into tables and lists, commits', /^src\/adapters\/sqlite\/read-model\//],
  ['event log: appends, commits, reading, followers', /^src\/(adapters\/sqlite|ports|composition)\//],
  ['hash tree of the log', /^src\/runtime\/merkle\//],
  ['projecting the ledger', /^projections\/ledger\//],
  ['projecting everything else', /^(projections|src\/runtime\/projections)\//],
  ['decisions, encoding, hashes', /^(state-machines|src\/(domain|runtime\/commands))\//],
  ['undici: the chains and the webhooks', /^node_modules\/undici\//],
];
const NODE = 'Node: sockets, HTTP, messages, timers';
const COLLECTOR = 'collecting garbage';

interface Frame {
  readonly functionName: string;
  readonly url: string;
}
export interface Profile {
  readonly nodes: readonly {
    readonly id: number;
    readonly callFrame: Frame;
    readonly children?: readonly number[] | undefined;
  }[];
  readonly startTime: number;
  readonly samples: readonly number[];
  readonly timeDeltas: readonly number[];
}

const placeOf = (url: string): string =>
  /(?:^|\/)((?:src|projections|state-machines|node_modules)\/.*)$/.exec(url)?.[1] ?? '';

/** The step of a place of ours, or of undici; null for others, which belong to whoever called them. */
const stepOf = ({ url }: Frame): string | null => STEPS.find(([, places]) => places.test(placeOf(url)))?.[0] ?? null;

/** The profile that a thread left. */
export const readProfile = (folder: string, name: string): Profile =>
  JSON.parse(readFileSync(join(folder, `${name}.cpuprofile`), 'utf8')) as Profile;

/** Shares of a thread's busy time between two moments by step, largest first. */
export function sharesOf(
  { nodes, samples, timeDeltas, startTime }: Profile,
  [fromUs, toUs]: readonly [number, number],
): [step: string, share: number][] {
  const parents = new Map(nodes.flatMap(({ id, children = [] }) => children.map((child) => [child, id] as const)));
  const frames = new Map(nodes.map(({ id, callFrame }) => [id, callFrame]));
  const stepAt = (id: number): string | null => {
    const { functionName } = frames.get(id)!;
    if (functionName === '(idle)') return null;
    if (functionName === '(garbage collector)') return COLLECTOR;
    for (let at: number | undefined = id; at !== undefined; at = parents.get(at)) {
      const step = stepOf(frames.get(at)!);
      if (step !== null) return step;
    }
    return NODE;
  };
  const steps = new Map(nodes.map(({ id }) => [id, stepAt(id)]));
  const spent = new Map<string, number>();
  let atUs = startTime;
  for (const [index, id] of samples.entries()) {
    atUs += timeDeltas[index]!;
    const step = steps.get(id)!;
    if (step !== null && atUs >= fromUs && atUs <= toUs) spent.set(step, (spent.get(step) ?? 0) + timeDeltas[index]!);
  }
  const sum = [...spent.values()].reduce((total, us) => total + us, 0);
  return [...spent].map(([step, us]): [string, number] => [step, us / sum]).sort(([, a], [, b]) => b - a);
}
