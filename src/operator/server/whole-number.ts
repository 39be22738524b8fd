import { type AdminArguments, refused } from './commands.ts';

/** The highest index of an address that a wallet derives. */
export const MAX_INDEX = 2 ** 31 - 1;

interface Bounds {
  readonly min?: number;
  readonly max?: number;
  /** The name in errors. */
  readonly shown?: string;
}

/** Also given as a JSON number. */
export function optionalWhole(
  args: AdminArguments,
  name: string,
  { min = 0, max = Number.MAX_SAFE_INTEGER, shown = name }: Bounds = {},
): number | undefined {
  const value = args[name] ?? '';
  if (value === '') return undefined;
  const isWhole = (typeof value === 'string' || typeof value === 'number') && /^\d{1,16}$/.test(String(value));
  if (isWhole && Number(value) >= min && Number(value) <= max) return Number(value);
  const bounds = max === Number.MAX_SAFE_INTEGER ? '' : ` from ${min} to ${max}`;
  return refused(`${shown} must be a whole number${bounds}`);
}

export const requiredWhole = (args: AdminArguments, name: string, bounds?: Bounds): number =>
  optionalWhole(args, name, bounds) ?? refused(`${name} is missing`);

export const limitOf = (args: AdminArguments, max = 500): number => optionalWhole(args, 'limit', { min: 1, max }) ?? 50;
