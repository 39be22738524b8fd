import { hash } from 'node:crypto';
import { z } from 'zod';
import {
  parseCheckpoint,
  verifySignature,
  type SignedCheckpoint,
  type VerifierKey,
} from '../../runtime/merkle/checkpoint-note.ts';
import { leafHash, verifyInclusion } from '../../runtime/merkle/tree.ts';
import { must } from '../../domain/values/must.ts';

/** The parts of the service's response that the proof needs. */
const proofSchema = z.object({
  session_id: z.string(),
  checkpoint: z.object({ checkpoint: z.string() }),
  proves: z.discriminatedUnion('kind', [
    z.object({ kind: z.literal('stream'), events: z.int(), through_revision: z.int() }),
    z.object({ kind: z.literal('inclusion'), events: z.int() }),
  ]),
  events: z
    .array(
      z.object({
        ...{ type: z.string(), revision: z.int().min(0), leaf_index: z.int().min(0) },
        ...{ text: z.string(), hash: z.string(), inclusion_proof: z.array(z.string()) },
      }),
    )
    .min(1),
});
type Proof = z.output<typeof proofSchema>;
type ProvenEvent = Proof['events'][number];

/** The parts of the canonical text that the proof needs. */
const textSchema = z.tuple([
  ...[z.string(), z.int(), z.string(), z.string(), z.int(), z.int(), z.unknown(), z.object({ prev: z.string() })],
] as const);

export interface ProofReport {
  readonly ok: boolean;
  readonly fault: string | null;
  readonly session: string | null;
  readonly events: number;
  /**
   * The proof contains every event of the session up to this revision; null if it makes no claim about other events.
   */
  readonly complete_through_revision: number | null;
}

/** Verifies a response of `GET /v1/payment/sessions/{id}/proof` with the public key alone. */
export function verifyProof(json: unknown, key: VerifierKey): ProofReport {
  const failed = (fault: string, session: string | null = null): ProofReport => ({
    ...{ ok: false, fault, session, events: 0, complete_through_revision: null },
  });
  const parsed = proofSchema.safeParse(json);
  if (!parsed.success) return failed('it is not a proof, or no checkpoint covers the payment yet');
  const { session_id: session, events, proves } = parsed.data;
  const checkpoint = signedCheckpoint(parsed.data.checkpoint.checkpoint, key);
  if (typeof checkpoint === 'string') return failed(checkpoint, session);
  let before: ProvenEvent | null = null;
  for (const event of events) {
    const fault = faultOf(event, before, parsed.data) ?? notIncluded(event, checkpoint);
    if (fault !== null) return failed(`event ${event.leaf_index + 1} of the event log ${fault}`, session);
    before = event;
  }
  const last = must(events.at(-1)).revision;
  if (proves.events !== events.length || (proves.kind === 'stream' && proves.through_revision !== last))
    return failed(`it holds ${events.length} events and says that it proves ${proves.events}`, session);
  return {
    ok: true,
    fault: null,
    session,
    events: events.length,
    complete_through_revision: proves.kind === 'stream' ? last : null,
  };
}

/** The checkpoint in a signed note, or the reason why the note proves nothing. */
export function signedCheckpoint(note: string, key: VerifierKey): SignedCheckpoint | string {
  const checkpoint = parseCheckpoint(note);
  if (!checkpoint) return 'its checkpoint cannot be read';
  return verifySignature(checkpoint, key) === 'valid' ? checkpoint : 'its checkpoint is not signed by this key';
}

/** The fields of a file that prove one event under a checkpoint. */
export const provenFields = {
  checkpoint: z.object({ checkpoint: z.string() }),
  proof: z.object({
    leaf_index: z.int().min(0),
    text: z.string(),
    hash: z.string(),
    inclusion_proof: z.array(z.string()),
  }),
};

/** Why its text or its position contradicts the event; null if nothing does. */
function faultOf(
  { text, type, revision, hash: digest, leaf_index: leaf }: ProvenEvent,
  before: ProvenEvent | null,
  proof: Proof,
): string | null {
  const parsed = textSchema.safeParse(jsonOf(text));
  if (!parsed.success) return 'is no event';
  const [stream, ofStream, , kind, , , , { prev }] = parsed.data;
  if (stream !== `session-${proof.session_id}`) return `is not of ${proof.session_id}`;
  if (type !== kind || revision !== ofStream || digest !== hash('sha256', text, 'hex'))
    return 'is not what is said of it: type, revision and hash are those of its text';
  const reached = before?.revision ?? -1;
  if (revision <= reached || leaf <= (before?.leaf_index ?? -1)) return 'is doubled or out of its order';
  if (proof.proves.kind === 'stream' && (revision !== reached + 1 || prev !== (before?.hash ?? '')))
    return `does not follow revision ${reached} of its stream: events are missing`;
  return null;
}

/** Parses a canonical text; null if it is malformed. */
export function eventTextOf(
  text: string,
): { stream: string; id: string; type: string; atMs: number; data: unknown } | null {
  const parsed = textSchema.safeParse(jsonOf(text));
  if (!parsed.success) return null;
  const [stream, , id, type, , atMs, data] = parsed.data;
  return { stream, id, type, atMs, data };
}

/** Why the tree under a checkpoint does not contain the event at its position; null if it does. */
export function notIncluded(
  { leaf_index: leaf, text, inclusion_proof: proof }: Pick<ProvenEvent, 'leaf_index' | 'text' | 'inclusion_proof'>,
  { size, root }: { size: number; root: Buffer },
): string | null {
  const nodes = proof.map((node) => Buffer.from(node, 'base64'));
  return verifyInclusion(leaf, size, leafHash(hash('sha256', text, 'buffer')), nodes, root)
    ? null
    : `is not what the checkpoint of ${size} events holds there`;
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
