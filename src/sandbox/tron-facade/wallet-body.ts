import { addressHexOf } from './tron-codec.ts';

/* What a request to the API holds. */

export type Body = Readonly<Record<string, unknown>>;

/** A request that the API does not understand: answered with 200 and `Error`, as java-tron does. */
export class BadRequest extends Error {
  override readonly name: string;

  constructor(message: string, exception = 'class org.tron.core.services.http.JsonFormat$ParseException') {
    super(message);
    this.name = exception;
  }
}

export const isVisible = (body: Body): boolean => body['visible'] === true || body['visible'] === 'true';

export const stringIn = (value: unknown): string =>
  typeof value === 'string' || typeof value === 'number' ? String(value) : '';

export function textIn(body: Body, name: string): string {
  const value = body[name];
  if (typeof value !== 'string' || value === '') throw new BadRequest(`${name} is missing`);
  return value;
}

/** A transaction's id, in either case. */
export function idIn(body: Body): string {
  const id = textIn(body, 'value').toLowerCase();
  if (!/^([0-9a-f]{2})*$/.test(id)) throw new BadRequest('1:10: INVALID hex String');
  return id;
}

export function numberIn(body: Body, name: string): number {
  const value = Number(body[name] ?? 0);
  if (!Number.isSafeInteger(value) || value < 0) throw new BadRequest(`${name} is no number`);
  return value;
}

export function addressIn(body: Body, name: string): string {
  const address = addressHexOf(body[name]);
  if (address === null) throw new BadRequest(`INVALID hex String, ${name}`);
  return address;
}
