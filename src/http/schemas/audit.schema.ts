import { z } from 'zod';
import { pagination, pagingFields } from './list.schema.ts';
import { unixSeconds } from './words.schema.ts';

const wholeNumber = z
  .string()
  .refine((text) => /^[1-9]\d{0,14}$/.test(text), 'must be a whole number from 1')
  .meta({ override: { type: 'integer', minimum: 1 }, description: 'Number of events.' });

export const listCheckpointsQuery = z.strictObject({ page_size: pagingFields.page_size, cursor: pagingFields.cursor });
export const consistencyQuery = z.strictObject({ from: wholeNumber, to: wholeNumber });

const hashes = z.array(z.string()).meta({ description: 'Hashes in base64, from the bottom of the tree up (RFC 9162).' });

export const auditCheckpoint = z
  .object({
    origin: z.string().meta({ description: 'Names the log.' }),
    size: z.int().meta({ description: 'Number of events that the checkpoint covers.' }),
    root_hash: z.string().meta({ description: 'Base64.' }),
    checkpoint: z.string().meta({ description: 'The signed note (C2SP tlog-checkpoint). Keep it as it is.' }),
    created: unixSeconds,
  })
  .meta({ id: 'AuditCheckpoint' });

const verifierKey = z.string().nullable().meta({ description: 'Public key of the signer (C2SP signed note); null where nobody signs.' });

export const checkpointList = z.object({ verifier_key: verifierKey, data: z.array(auditCheckpoint), pagination });

export const consistency = z.object({ from: z.int(), to: z.int(), proof: hashes }).meta({ id: 'ConsistencyProof' });

export const sessionProof = z
  .object({
    session_id: z.string(),
    verifier_key: verifierKey,
    checkpoint: auditCheckpoint.nullable().meta({ description: 'The newest one; null before the first.' }),
    proves: z
      .discriminatedUnion('kind', [
        z.object({ kind: z.literal('stream'), events: z.int(), through_revision: z.int() }),
        z.object({ kind: z.literal('inclusion'), events: z.int() }),
      ])
      .meta({
        description:
          '`stream`: these are all events of the session up to `through_revision` (-1 for none). `inclusion`: these are in the ledger; others may be, too.',
      }),
    events: z.array(
      z.object({
        type: z.string(),
        revision: z.int(),
        leaf_index: z.int(),
        text: z.string().meta({ description: "The event's canonical text. Its SHA-256 is `hash`, whose bytes are the leaf's entry." }),
        hash: z.string().meta({ description: 'Hex.' }),
        inclusion_proof: hashes,
      }),
    ),
    pending_events: z.int().meta({ description: 'Events that the next checkpoint will cover.' }),
  })
  .meta({ id: 'SessionProof' });

export type AuditCheckpointBody = z.output<typeof auditCheckpoint>;
export type SessionProofBody = z.output<typeof sessionProof>;
