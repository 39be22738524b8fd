import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const SHIPPED = join(import.meta.dirname, '../../ops/prometheus/alerts.yml');
/** A rate needs some scrapes, one a second, also on a busy machine. */
const SHORTEST_WINDOW_SEC = 8;
/** Ages from here on are waited for; shorter thresholds are speeds, which stay as they are. */
const SHORTEST_AGE_SEC = 30;
const MINUTES = { s: 1 / 60, m: 1, h: 60 } as const;

const secondsOf = (count: string, unit: string): number =>
  Math.max(1, Math.round(Number(count) * MINUTES[unit as keyof typeof MINUTES]));

/** Names of all alerts that are shipped. */
export function shippedAlerts(): string[] {
  return [...readFileSync(SHIPPED, 'utf8').matchAll(/^ {6}- alert: (\w+)$/gm)].map((match) => match[1]!);
}

/** A start takes its own time, so restarts are counted over this many times the minutes. */
const RESTARTS_FACTOR = 6;

/** What waits for days waits for this many times less: three days are a minute. */
const DAY_IN_DRILL_FACTOR = 4_320;

/**
 * The rules as they are shipped, made to end within a drill by five replacements and no other: a minute lasts a second
 * (`for`, windows, and thresholds that are ages), a day of an age lasts twenty, the drill's test mode stands for live
 * mode, and the disk counts as nearly full at
 * `diskFreeBytes`, and restarts are counted over a longer window, since a start takes its own time.
 */
export function drillRules(diskFreeBytes: number): string {
  return readFileSync(SHIPPED, 'utf8')
    .replaceAll(
      /\[(\d+)([smh])\]/g,
      (_, count: string, unit: string) => `[${Math.max(SHORTEST_WINDOW_SEC, secondsOf(count, unit))}s]`,
    )
    .replaceAll(
      /^( +for:) (\d+)([smh])$/gm,
      (_, name: string, count: string, unit: string) => `${name} ${secondsOf(count, unit)}s`,
    )
    .replaceAll(/(_seconds(?:_bucket\S*)?(?: |\)+ )>) (\d+)/g, (text, start: string, age: string) =>
      isAge(age) ? `${start} ${Number(age) / 60}` : text,
    )
    .replaceAll(
      /(_age_seconds\S*\) >) (\d{5,})/g,
      (_, start: string, age: string) => `${start} ${Number(age) / DAY_IN_DRILL_FACTOR}`,
    )
    .replaceAll(
      /(process_start_time_seconds\S*\[)(\d+)s/g,
      (_, start: string, count: string) => `${start}${Number(count) * RESTARTS_FACTOR}s`,
    )
    .replaceAll('mode="live"', 'mode="test"')
    .replaceAll('quittance_data_disk_free_bytes < 5e9', `quittance_data_disk_free_bytes < ${diskFreeBytes}`);
}

const isAge = (age: string): boolean => Number(age) >= SHORTEST_AGE_SEC;
