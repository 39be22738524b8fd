import { z } from 'zod';
import { integer, network, sessionId, text, unixSeconds } from './words.schema.ts';

const timelineEntry = z
  .object({
    at: unixSeconds.meta({ description: 'When it was recorded, Unix seconds.' }),
    type: z.string().meta({ description: 'Name of the event in the event log.', examples: ['DepositDetected'] }),
    message: text('What happened, in one sentence.'),
    facts: z
      .record(z.string(), z.union([z.string(), z.number(), z.boolean(), z.null()]))
      .meta({ description: 'The facts behind the sentence, by name.' }),
  })
  .meta({ id: 'TimelineEntry' });

const coveredRange = z
  .object({
    network,
    from_block: integer('First block that was read.'),
    to_block: integer('Last block that was read.'),
    to_time: unixSeconds.meta({ description: 'Time of the last block, Unix seconds.' }),
    providers: z.array(z.string()).meta({ description: 'Names of the providers that answered.' }),
    gaps: z
      .array(
        z.object({
          from_block: integer('First block that is missing.'),
          to_block: integer('Last block that is missing.'),
        }),
      )
      .meta({ description: 'Blocks in between that no recorded read covers.' }),
  })
  .meta({ id: 'CoveredRange' });

export const timelineOf = z
  .object({
    session_id: sessionId,
    conclusion: z.string().meta({ description: 'Why the session is, or is not, paid.' }),
    entries: z.array(timelineEntry).meta({ description: 'Every observation and decision, oldest first.' }),
    read_to: z
      .array(
        z.object({
          network,
          time: unixSeconds
            .nullable()
            .meta({ description: 'Chain time, Unix seconds; null before anything was read.' }),
        }),
      )
      .meta({
        description:
          'Chain time up to which every transfer to the session is known, by network; null before anything was read. Older sessions are read less often.',
      }),
    coverage: z
      .array(coveredRange)
      .meta({ description: 'What was read on each network while the session could be paid, and by which provider.' }),
  })
  .meta({ id: 'Timeline' });

export type TimelineBody = z.output<typeof timelineOf>;
