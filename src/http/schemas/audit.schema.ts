import { z } from 'zod';
import { pagination, pagingFields } from './list.schema.ts';
import { integer, sessionId, text, unixSeconds } from './words.schema.ts';

const wholeNumber = z
  .string()
  .refine((text) => /^[1-9]\d{0,14}$/.test(text), 'must be a whole number from 1')
  .meta({ override: { type: 'integer', minimum: 1 }, description: 'Number of events.' });

export const listCheckpointsQuery = z.strictObject({ page_size: pagingFields.page_size, cursor: pagingFields.cursor });
export const consistencyQuery = z.strictObject({ from: wholeNumber, to: wholeNumber });

export const hashes = z
  .array(z.string())
  .meta({ description: 'Hashes in base64, from the bottom of the tree up (RFC 9162).' });

export const auditCheckpoint = z
  .object({
    origin: z.string().meta({ description: 'Name of the log.' }),
    size: z.int().meta({ description: 'Number of events that the checkpoint covers.' }),
    root_hash: z.string().meta({ description: 'Base64.' }),
    checkpoint: z.string().meta({ description: 'The signed note (C2SP tlog-checkpoint). Keep it unchanged.' }),
    created: unixSeconds.meta({ description: 'When it was signed, Unix seconds.' }),
  })
  .meta({ id: 'AuditCheckpoint', description: 'A size and root hash of the log, signed by the service.' });

const verifierKey = z
  .string()
  .nullable()
  .meta({ description: 'Public key of the signer (C2SP signed note); null without a signer.' });

export const checkpointList = z.object({
  verifier_key: verifierKey,
  data: z.array(auditCheckpoint).meta({ description: 'Checkpoints, newest first.' }),
  pagination,
});

export const consistency = z
  .object({ from: integer('Size of the smaller tree.'), to: integer('Size of the larger tree.'), proof: hashes })
  .meta({ id: 'ConsistencyProof' });

export const sessionProof = z
  .object({
    session_id: sessionId,
    verifier_key: verifierKey,
    checkpoint: auditCheckpoint.nullable().meta({ description: 'The newest one; null before the first.' }),
    proves: z
      .discriminatedUnion('kind', [
        z.object({
          kind: z.literal('stream').meta({ description: 'These are all events of the session.' }),
          events: integer('How many events are proven.'),
          through_revision: integer('Up to this revision of the session; -1 for none.'),
        }),
        z.object({
          kind: z.literal('inclusion').meta({ description: 'These events are in the event log; there may be others.' }),
          events: integer('How many events are proven.'),
        }),
      ])
      .meta({
        description:
          '`stream`: these are all events of the session up to `through_revision` (-1 for none). `inclusion`: these are in the event log; there may be others.',
      }),
    events: z
      .array(
        z.object({
          type: text('Name of the event in the event log.'),
          revision: integer('Its position in the session, from 0.'),
          leaf_index: integer('Its position in the log, from 0.'),
          text: z.string().meta({
            description: "The event's canonical text. Its SHA-256 is `hash`, whose bytes are the leaf's entry.",
          }),
          hash: z.string().meta({ description: 'Hex.' }),
          inclusion_proof: hashes,
        }),
      )
      .meta({ description: 'The proven events, oldest first.' }),
    pending_events: z.int().meta({ description: 'Events that the next checkpoint will cover.' }),
  })
  .meta({ id: 'SessionProof' });

export type AuditCheckpointBody = z.output<typeof auditCheckpoint>;
export type SessionProofBody = z.output<typeof sessionProof>;
