import type { ErrorCode } from '../errors.ts';

/** A refused command: a value, never an exception. `param` names the request field at fault. */
export interface Refusal {
  readonly code: ErrorCode;
  readonly message: string;
  readonly param?: string;
}

/** The message for people, which names the field at fault once. */
export const textOfRefusal = ({ message, param }: Refusal): string =>
  param === undefined || message.startsWith(param) ? message : `${param}: ${message}`;

export interface Refused {
  readonly ok: false;
  readonly refusal: Refusal;
}

/** A decider's answer: events to append (none for a repeated command), or the refusal. */
export type Decision<Event> = { readonly ok: true; readonly events: readonly Event[] } | Refused;

export const accept = <Event>(...events: Event[]): Decision<Event> => ({ ok: true, events });
export const refuse = (code: ErrorCode, message: string, param?: string): Refused => ({
  ok: false,
  refusal: param === undefined ? { code, message } : { code, message, param },
});
