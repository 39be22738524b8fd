import type { AuditIdentity, CheckpointSigner, CheckpointVerdict } from '../../ports/audit.ts';
import type { SignerConnection } from './connection.ts';

/** The signer's part of tamper evidence, over its socket. Each call rejects with `SignerUnavailable` or `SignerRefused`. */
export function auditCalls(connection: SignerConnection): CheckpointSigner {
  return {
    auditIdentity: async () => (await connection.call('auditIdentity', {})) as AuditIdentity | null,
    signCheckpoint: async (request) => (await connection.call('signCheckpoint', request)) as CheckpointVerdict,
  };
}
