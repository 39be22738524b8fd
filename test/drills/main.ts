import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PROMETHEUS } from '../support/running-prometheus.ts';
import { DrillRunner, type Drill, type DrillResult, type Round } from './drill.ts';
import { shippedAlerts } from './drill-rules.ts';
import { DrillWorld } from './drill-world.ts';
import { PLAN } from './plan.ts';

/*
 * `npm run test:drills [-- alert ...]`: causes the fault of every alert on a running service that a real Prometheus
 * scrapes, and expects the alert to fire while the fault lasts and to clear after it. Ends with 1 when one does not.
 * With `--write` the table in
 * `docs/observability.md` is made anew.
 */

const DOCUMENT = join(import.meta.dirname, '../../docs/observability.md');
const [BEGIN, END] = ['<!-- drills -->', '<!-- /drills -->'];

/** The watchdog always fires; the other one needs a chain on which a payout completes before it is final. */
const DRILLED_ELSEWHERE = ['Watchdog', 'RefundReverted'];

const cell = (sec: number | null): string => (sec === null ? '**no**' : `${sec} s`);

interface TableRow {
  readonly alert: string;
  readonly text: string;
}

const rowsOf = (results: readonly DrillResult[]): TableRow[] =>
  results.map(({ alert, fault, firedSec, clearedSec }) => ({
    alert,
    text: `| \`${alert}\` | ${fault} | ${cell(firedSec)} | ${cell(clearedSec)} |`,
  }));

function tableOf(rows: readonly TableRow[]): string {
  const sorted = rows.toSorted((a, b) => a.text.localeCompare(b.text));
  return [
    '| alert | fault | fired after | cleared after |',
    '| --- | --- | --- | --- |',
    ...sorted.map(({ text }) => text),
  ].join('\n');
}

/** Rows of alerts that were not drilled this time stay as they are. */
function writeTable(rows: readonly TableRow[]): void {
  const text = readFileSync(DOCUMENT, 'utf8');
  const [before, rest] = text.split(BEGIN);
  const [known, after] = rest!.split(END);
  const kept = known!.split('\n').flatMap((line) => {
    const alert = /^\| `(\w+)` +\|/.exec(line)?.[1];
    return alert === undefined || rows.some((row) => row.alert === alert)
      ? []
      : [{ alert, text: line.replaceAll(/ +\|/g, ' |') }];
  });
  writeFileSync(DOCUMENT, `${before}${BEGIN}\n\n${tableOf([...kept, ...rows])}\n\n${END}${after}`);
}

function planOf(wanted: readonly string[]): Round[] {
  const isWanted = ({ alerts }: Drill): boolean =>
    wanted.length === 0 || alerts.some((alert) => wanted.includes(alert));
  return PLAN.map((round) => round.map((track) => track.filter(isWanted)));
}

async function main(args: readonly string[]): Promise<number> {
  if (PROMETHEUS === undefined || process.platform !== 'linux')
    throw new Error('the drills need Linux and an installed Prometheus');
  const wanted = args.filter((argument) => !argument.startsWith('--'));
  const unknown = wanted.filter((name) => !shippedAlerts().includes(name));
  if (unknown.length > 0) throw new Error(`no such alert: ${unknown.join(', ')}`);
  const world = await DrillWorld.start();
  const runner = new DrillRunner(world);
  const giveUp = (): void => void world.close().then(() => process.exit(1));
  process.once('SIGINT', giveUp).once('SIGTERM', giveUp);
  try {
    await runner.run(planOf(wanted));
  } finally {
    await world.close();
  }
  const drilled = new Set(runner.results.map(({ alert }) => alert));
  const missing = (wanted.length > 0 ? wanted : shippedAlerts()).filter(
    (alert) => !drilled.has(alert) && !DRILLED_ELSEWHERE.includes(alert),
  );
  const rows = rowsOf(runner.results);
  console.log(`\n${tableOf(rows)}\n`);
  if (missing.length > 0) console.log(`not drilled: ${missing.join(', ')}`);
  if (args.includes('--write')) writeTable(rows);
  return missing.length > 0 ||
    runner.results.some(({ firedSec, clearedSec }) => firedSec === null || clearedSec === null)
    ? 1
    : 0;
}

process.exitCode = await main(process.argv.slice(2));
