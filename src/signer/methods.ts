import { z } from 'zod';
import type { WatchOnlyExport } from '../ports/signer/signer.ts';
import { MAX_SOLANA_KEYS_PER_REQUEST } from '../ports/signer/protocol.ts';
import { APPROVAL_METHODS } from './approvals/methods.ts';
import { AUDIT_METHODS } from './audit/methods.ts';
import { method, MethodRefused, walletOf, type Method, type SignerContext } from './method.ts';
import { OUTGOING_METHODS } from './outgoing-methods.ts';

const mode = z.enum(['live', 'test']);
const index = z.int().min(0).max(0x7fff_ffff);
const keyCount = z.int().min(0).max(MAX_SOLANA_KEYS_PER_REQUEST);

/** The complete list of the signer's methods. */
const METHODS: ReadonlyMap<string, Method<unknown, unknown>> = new Map<string, Method<unknown, unknown>>([
  [
    'exportWatchOnly',
    method({
      params: z.strictObject({ mode, solanaPoolSize: keyCount }),
      run: ({ mode, solanaPoolSize }, context): WatchOnlyExport => {
        const wallet = walletOf(context, mode);
        return {
          mode,
          evmXpub: wallet.evmXpub,
          tronXpub: wallet.tronXpub,
          solanaPool: wallet.solanaPublicKeys(0, solanaPoolSize),
        };
      },
    }),
  ],
  ...OUTGOING_METHODS,
  ...AUDIT_METHODS,
  ...APPROVAL_METHODS,
  [
    'exportSolanaKeys',
    method({
      params: z
        .strictObject({ mode, fromIndex: index, count: keyCount })
        .refine(({ fromIndex, count }) => fromIndex + count <= 0x8000_0000),
      run: ({ mode, fromIndex, count }, context): string[] =>
        walletOf(context, mode).solanaPublicKeys(fromIndex, count),
    }),
  ],
]);

/** Runs a method. Throws `MethodRefused`; anything else is a bug. */
export async function callMethod(name: string, params: unknown, context: SignerContext): Promise<unknown> {
  const found = METHODS.get(name);
  if (!found) throw new MethodRefused('unknown_method', 'the signer has no such method');
  const parsed = found.params.safeParse(params);
  if (!parsed.success)
    throw new MethodRefused(
      'invalid_params',
      `invalid parameters: ${parsed.error.issues.map(({ path }) => path.join('.')).join(', ')}`,
    );
  return found.run(parsed.data, context);
}
