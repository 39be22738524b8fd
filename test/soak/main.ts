import { appendFileSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { callAdmin } from '../../src/cli/admin-client.ts';
import { startRunningSandbox, type RunningSandbox } from '../support/running-sandbox.ts';
import { chartOf } from './chart.ts';
import { faultsOf, type Fault } from './faults.ts';
import { figuresOf, processesOf } from './figures.ts';
import { SoakReceiver } from './receiver.ts';
import { sampleOf, type Sample, type Sampled } from './samples.ts';
import { SoakShop, type SoakMerchant } from './shop.ts';
import { judge } from './verdict.ts';

/*
 * `npm run soak [-- --minutes 60 --rate 2 --fault-every 300 --directory soak-results]`: the real service with real
 * stores and local chains under steady load and faults. Memory, handles, threads, files, lag and latency must stay
 * flat, and nothing may be lost. Writes the samples and their curves; ends with 1 when something grew, or was lost.
 * Linux only.
 */

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '60' },
    rate: { type: 'string', default: '2' },
    'fault-every': { type: 'string', default: '300' },
    directory: { type: 'string', default: 'soak-results' },
  },
});

function numberOf(name: 'minutes' | 'rate' | 'fault-every', atLeast: number): number {
  const value = Number(values[name]);
  if (!Number.isFinite(value) || value < atLeast)
    throw new RangeError(`--${name} must be a number of at least ${atLeast}, not ${values[name]}`);
  return value;
}

/** Two quarters are compared, of which faults take a part. */
const MIN_MINUTES = 12;
const SAMPLE_SEC = 10;
/** After a fault, until its effects are over: what was held up is worked off. */
const AFTERMATH_SEC = 60;
const SETTLE_MS = 180_000;

/** The process with the most memory: npm and the starter wait beside it. */
function largest(pids: readonly number[], what: string): number {
  const [first] = pids.toSorted((a, b) => (figuresOf(b)?.memoryMb ?? 0) - (figuresOf(a)?.memoryMb ?? 0));
  if (first === undefined) throw new Error(`no process of the ${what} runs`);
  return first;
}

/** Offers `rate` orders a second until the time is over, with a fault now and then. */
async function run(sampled: Sampled, faults: readonly Fault[], keep: (sample: Sample) => void): Promise<void> {
  const [minutes, rate, faultEverySec] = [
    numberOf('minutes', MIN_MINUTES),
    numberOf('rate', 0.1),
    numberOf('fault-every', 120),
  ];
  const startedAt = performance.now();
  const elapsedSec = (): number => (performance.now() - startedAt) / 1_000;
  let [ordered, nextSampleSec, nextFaultSec, disturbedUntilSec, faultsBegun] = [
    0,
    SAMPLE_SEC,
    faultEverySec,
    AFTERMATH_SEC,
    0,
  ];
  let ending: { readonly atSec: number; readonly end: () => void } | null = null;
  while (elapsedSec() < minutes * 60) {
    const nowSec = elapsedSec();
    for (; ordered < nowSec * rate; ordered += 1) sampled.shop.order();
    sampled.shop.look();
    if (ending !== null && nowSec >= ending.atSec) {
      ending.end();
      ending = null;
    }
    if (ending === null && nowSec >= nextFaultSec) {
      const fault = faults[faultsBegun % faults.length]!;
      faultsBegun += 1;
      console.log(`soak: minute ${Math.round(nowSec / 60)}: ${fault.name} for ${fault.seconds} s`);
      ending = { atSec: nowSec + fault.seconds, end: fault.begin() };
      disturbedUntilSec = nowSec + fault.seconds + AFTERMATH_SEC;
      nextFaultSec += faultEverySec;
    }
    if (nowSec >= nextSampleSec) {
      keep(await sampleOf(sampled, Math.round(nowSec), nowSec > disturbedUntilSec));
      nextSampleSec += SAMPLE_SEC;
    }
    await sleep(50);
  }
  ending?.end();
}

interface Reconciled {
  readonly treasuries: readonly { readonly unknown: readonly object[] }[];
}

/** Waits until every payment was told of and every refund was paid; answers what was lost. */
async function losses({ shop, dataDir }: Sampled, receiver: SoakReceiver): Promise<string[]> {
  const deadline = performance.now() + SETTLE_MS;
  const isSettled = async (): Promise<boolean> => {
    shop.look();
    return shop.waiting.length === 0 && (await shop.openRefunds()) === 0;
  };
  while (!(await isSettled()) && performance.now() < deadline) await sleep(1_000);
  const open = await shop.openRefunds();
  const { treasuries } = (await callAdmin(dataDir, 'treasury.reconcile', {})) as unknown as Reconciled;
  return [
    ...shop.waiting.map((session) => `${session} was paid, and nobody was told`),
    ...receiver.toldTwice.map((session) => `${session} was told under two ids`),
    ...(open > 0 ? ['refunds are still open'] : []),
    ...treasuries.flatMap(({ unknown }) =>
      unknown.map((outflow) => `left without an order: ${JSON.stringify(outflow)}`),
    ),
  ];
}

async function soak(sandbox: RunningSandbox, receiver: SoakReceiver): Promise<number> {
  const merchant = await callAdmin(sandbox.dataDir, 'merchant.create', {
    name: 'Soak',
    mode: 'test',
    webhookUrl: receiver.url,
  });
  const shop = new SoakShop(sandbox.facts.base_url, merchant as unknown as SoakMerchant, receiver);
  const service = largest(processesOf(process.pid, 'sandbox start'), 'service');
  const signer = largest(processesOf(process.pid, 'signer/main'), 'signer');
  const sampled: Sampled = { service, signer, opsUrl: sandbox.facts.ops_url, dataDir: sandbox.dataDir, shop };
  const samples: Sample[] = [];
  mkdirSync(values.directory, { recursive: true });
  const [file, chart] = [join(values.directory, 'samples.jsonl'), join(values.directory, 'curves.svg')];
  rmSync(file, { force: true });
  await run(sampled, faultsOf(process.pid, receiver), (sample) => {
    samples.push(sample);
    appendFileSync(file, `${JSON.stringify(sample)}\n`);
  });
  const lost = await losses(sampled, receiver);
  writeFileSync(chart, chartOf(samples));
  const judged = judge(samples);
  console.log('\n| figure | second quarter | last quarter | |\n| --- | --- | --- | --- |');
  for (const { name, second, last, isFlat } of judged)
    console.log(`| ${name} | ${second.toFixed(1)} | ${last.toFixed(1)} | ${isFlat ? 'flat' : '**grew**'} |`);
  console.log(
    `\n${shop.orders} orders, ${shop.completed} paid and told, ${shop.refunds} refunds; ${lost.length} lost. Curves: ${chart}`,
  );
  for (const one of lost) console.log(`  ${one}`);
  return lost.length === 0 && judged.every(({ isFlat }) => isFlat) ? 0 : 1;
}

if (process.platform !== 'linux') throw new Error('the soak reads /proc, which only Linux has');
const receiver = await SoakReceiver.start();
const sandbox = await startRunningSandbox();
const giveUp = (): void => void sandbox.stop().then(() => process.exit(1));
process.once('SIGINT', giveUp).once('SIGTERM', giveUp);
try {
  process.exitCode = await soak(sandbox, receiver);
} finally {
  await sandbox.stop();
  await receiver.close();
  for (const path of [sandbox.dataDir, `${sandbox.dataDir}-signer`]) rmSync(path, { recursive: true, force: true });
}
