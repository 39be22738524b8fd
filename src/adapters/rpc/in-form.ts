import type { z } from 'zod';
import { ProviderFault } from '../../ports/chain/rpc-pool.ts';

/** The answer to a call in its form. Throws `ProviderFault` for any other, so that another provider is asked. */
export function inForm<Value>(form: z.ZodType<Value>, answer: unknown, call: string): Value {
  const read = form.safeParse(answer);
  if (read.success) return read.data;
  const where = read.error.issues[0]?.path.join('.') ?? '';
  throw new ProviderFault('inconsistent', `${call} answered in an unknown form${where && ` (${where})`}`);
}
