import type { AuditIdentity, CheckpointSigner, CheckpointVerdict } from '../../ports/audit.ts';
import type { SignerCaller } from './connection.ts';

/**
 * The signer's part of tamper evidence, over its socket. Each call rejects with `SignerUnavailable` or `SignerRefused`.
 */
export function auditCalls(connection: SignerCaller): CheckpointSigner {
  return {
    auditIdentity: async () => (await connection.call('auditIdentity', {})) as AuditIdentity | null,
    signCheckpoint: async (request) => (await connection.call('signCheckpoint', request)) as CheckpointVerdict,
  };
}
