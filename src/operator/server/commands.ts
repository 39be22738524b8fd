import { MODES, parseMerchantId, type MerchantId, type Mode } from '../../domain/values/ids.ts';
import type { JsonValue } from '../../ports/read-model/read-model.ts';
import type { Outcome } from '../../features/shared/merchant-api.ts';
import { parseJson } from '../../runtime/util/parse-json.ts';

export type AdminArguments = Readonly<Record<string, JsonValue | undefined>>;

/** The operator's commands on a running service, by name. Each returns plain JSON. */
export type AdminCommands = Readonly<Record<string, (args: AdminArguments) => Promise<JsonValue>>>;

/** An answer too long to hold in memory: delivered in chunks. */
export interface AdminStream {
  readonly contentType: string;
  /** Number of the last entry, for a progress bar. */
  readonly entries: number;
  readonly chunks: AsyncIterable<string | Uint8Array>;
}

export type AdminStreams = Readonly<Record<string, (args: AdminArguments) => Promise<AdminStream>>>;

/**
 * The entry with that name; undefined when there is none, even for names that every object has, such as `constructor`.
 */
export function named<Found>(all: Readonly<Record<string, Found>>, name: string): Found | undefined {
  return Object.hasOwn(all, name) ? all[name] : undefined;
}

/** A command that cannot be carried out; the message is for the operator. */
export class CommandRefused extends Error {
  override readonly name = 'CommandRefused';
}

export function refused(message: string): never {
  throw new CommandRefused(message);
}

/** Throws `CommandRefused` with the message of the refusal. */
export const accepted = <Value>(outcome: Outcome<Value>): Value =>
  outcome.ok ? outcome.value : refused(outcome.refusal.message);

/** Drops what JSON cannot express; the values are plain records. */
export const json = (value: unknown): JsonValue => parseJson(JSON.stringify(value ?? null));

export function requiredText(args: AdminArguments, name: string): string {
  const value = args[name];
  if (typeof value !== 'string' || value === '') throw new CommandRefused(`${name} is missing`);
  return value;
}

export function optionalText(args: AdminArguments, name: string): string | undefined {
  const value = args[name];
  if (value === undefined || value === null) return undefined;
  if (typeof value !== 'string') throw new CommandRefused(`${name} must be text`);
  return value;
}

/** The merchant that the argument names, who may not exist. */
export const merchantIn = (args: AdminArguments, name = 'merchant_id'): MerchantId =>
  merchantNamed(requiredText(args, name));

export function optionalMerchant(args: AdminArguments, name: string): MerchantId | null {
  const text = optionalText(args, name);
  return text === undefined ? null : merchantNamed(text);
}

const merchantNamed = (text: string): MerchantId => parseMerchantId(text) ?? refused('no such merchant');

export const requiredMode = (args: AdminArguments): Mode => modeNamed(requiredText(args, 'mode'));

export function optionalMode(args: AdminArguments): Mode | undefined {
  const name = optionalText(args, 'mode');
  return name === undefined ? undefined : modeNamed(name);
}

const modeNamed = (name: string): Mode => MODES.find((mode) => mode === name) ?? refused('mode must be test or live');
