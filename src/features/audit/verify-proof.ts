import { hash } from 'node:crypto';
import { z } from 'zod';
import { parseCheckpoint, verifySignature, type VerifierKey } from '../../runtime/merkle/checkpoint-note.ts';
import { leafHash, verifyInclusion } from '../../runtime/merkle/tree.ts';

/** What the service gives to merchants and payers, as far as a proof needs it. */
const proofSchema = z.object({
  session_id: z.string(),
  checkpoint: z.object({ checkpoint: z.string() }),
  events: z.array(z.object({ leaf_index: z.int().min(0), text: z.string(), inclusion_proof: z.array(z.string()) })).min(1),
});

export interface ProofReport {
  readonly ok: boolean;
  readonly fault: string | null;
  readonly session: string | null;
  readonly events: number;
}

/** Verifies a proof of `GET /v1/payment/sessions/{id}/proof` with nothing but the public key. */
export function verifyProof(json: unknown, key: VerifierKey): ProofReport {
  const failed = (fault: string, session: string | null = null): ProofReport => ({ ok: false, fault, session, events: 0 });
  const parsed = proofSchema.safeParse(json);
  if (!parsed.success) return failed('it is not a proof, or no checkpoint covers the payment yet');
  const { session_id: session, events } = parsed.data;
  const checkpoint = parseCheckpoint(parsed.data.checkpoint.checkpoint);
  if (!checkpoint) return failed('its checkpoint cannot be read', session);
  if (verifySignature(checkpoint, key) !== 'valid') return failed('its checkpoint is not signed by this key', session);
  for (const { leaf_index: leaf, text, inclusion_proof: proof } of events) {
    if (!text.startsWith(`["session-${session}",`)) return failed(`event ${leaf + 1} of the ledger is not of ${session}`, session);
    const nodes = proof.map((node) => Buffer.from(node, 'base64'));
    const entry = leafHash(hash('sha256', text, 'buffer'));
    if (!verifyInclusion(leaf, checkpoint.size, entry, nodes, checkpoint.root))
      return failed(`event ${leaf + 1} of the ledger is not what the checkpoint of ${checkpoint.size} events holds there`, session);
  }
  return { ok: true, fault: null, session, events: events.length };
}
