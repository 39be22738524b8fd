import { z } from 'zod';
import type { AuditIdentity, CheckpointRequest, CheckpointVerdict } from '../../ports/event-log/audit.ts';
import { method, type Method } from '../method.ts';

const hashText = z.string().regex(/^[A-Za-z0-9+/]{43}=$/);
const request: z.ZodType<CheckpointRequest> = z.strictObject({
  size: z.int().min(1),
  rootHash: hashText,
  consistency: z.array(hashText).max(128),
});

/** The signer's methods on the event log as a whole. */
export const AUDIT_METHODS: readonly (readonly [string, Method<unknown, unknown>])[] = [
  [
    'auditIdentity',
    method({ params: z.strictObject({}), run: (_, { audit }): AuditIdentity | null => audit?.identity() ?? null }),
  ],
  [
    'signCheckpoint',
    method({
      params: request,
      run: (params, { audit }): CheckpointVerdict =>
        audit?.sign(params) ?? { ok: false, message: 'the signer signs no checkpoints' },
    }),
  ],
];
