/* Days and months of the books, in UTC: `2026-10-31`, `2026-10`. */

const DAY = /^\d{4}-\d{2}-\d{2}$/;
const MONTH = /^\d{4}-(?:0[1-9]|1[0-2])$/;

/** The day that holds a moment. */
export const dayOf = (sec: number): string => new Date(sec * 1000).toISOString().slice(0, 10);

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

/** Unix seconds of the first moment of a day. */
const startOfDaySec = (day: string): number => Date.parse(day) / 1000;
export const dayBefore = (day: string): string => dayOf(startOfDaySec(day) - 1);
