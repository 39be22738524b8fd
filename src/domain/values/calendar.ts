import { memoized } from './memoized.ts';
import { must } from './must.ts';

/* Days and months of the books, in UTC: `2026-10-31`, `2026-10`. */

const DAY = /^\d{4}-\d{2}-\d{2}$/;
const MONTH = /^\d{4}-(?:0[1-9]|1[0-2])$/;

const textOfDay = memoized(1_000, (day: number): string => new Date(day * DAY_SEC * 1000).toISOString().slice(0, 10));

/** The day that contains a moment. */
export const dayOf = (sec: number): string => textOfDay(Math.floor(sec / DAY_SEC));

export const monthOf = (day: string): string => day.slice(0, 7);
export const firstDayOf = (month: string): string => `${month}-01`;

export function isDay(text: string): boolean {
  return DAY.test(text) && !Number.isNaN(Date.parse(text)) && dayOf(Date.parse(text) / 1000) === text;
}

export const isMonth = (text: string): boolean => MONTH.test(text);

/** The month after this one. */
export function nextMonth(month: string): string {
  const [year, number] = month.split('-').map(Number) as [number, number];
  return number === 12 ? `${year + 1}-01` : `${year}-${String(number + 1).padStart(2, '0')}`;
}

export const lastDayOf = (month: string): string => dayBefore(firstDayOf(nextMonth(month)));

/** Unix seconds of the start of a day. */
export const startOfDaySec = (day: string): number => Date.parse(day) / 1000;
export const dayBefore = (day: string): string => dayOf(startOfDaySec(day) - 1);
export const dayAfter = (day: string): string => dayOf(startOfDaySec(day) + DAY_SEC);

const DAY_SEC = 86_400;
const STAMP = /^(\d{4}-\d{2}-\d{2})T(\d{2}:\d{2}(?::\d{2}(?:\.\d{1,3})?)?)(Z|[+-]\d{2}:\d{2})?$/;

/** Whether the text is a timestamp such as `2026-10-31T18:00:00+09:00`, with or without an offset. */
export const isStamp = (text: string): boolean => {
  const [, day, time, offset] = STAMP.exec(text) ?? [];
  return day !== undefined && isDay(day) && !Number.isNaN(Date.parse(`${day}T${time}${offset ?? 'Z'}`));
};

/** Unix milliseconds of a timestamp with an offset; null for one without. */
export const momentOf = (stamp: string): number | null =>
  STAMP.exec(stamp)?.[3] === undefined ? null : Date.parse(stamp);

export function isTimeZone(name: string): boolean {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone !== '';
  } catch {
    return false;
  }
}

/**
 * Unix milliseconds at which the local time (`2026-10-31T18:00`) occurs in the time zone; when it occurs twice, the
 * second occurrence.
 */
export function momentInZone(local: string, timeZone: string): number {
  const shownMs = Date.parse(`${local}Z`);
  // Offsets differ by less than a day, so one of the two around a change is right.
  const [before, after] = [
    shownMs - offsetMs(shownMs - DAY_SEC * 1000, timeZone),
    shownMs - offsetMs(shownMs + DAY_SEC * 1000, timeZone),
  ];
  return after + offsetMs(after, timeZone) === shownMs ? after : before;
}

/** Local time of the zone minus UTC. */
function offsetMs(atMs: number, timeZone: string): number {
  const fields = {
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
  } as const;
  const parts = new Intl.DateTimeFormat('en', { timeZone, hourCycle: 'h23', ...fields }).formatToParts(atMs);
  const of = (type: string): number => Number(must(parts.find((part) => part.type === type)).value);
  const second = Math.floor(atMs / 1000) * 1000;
  return Date.UTC(of('year'), of('month') - 1, of('day'), of('hour'), of('minute'), of('second')) - second;
}
