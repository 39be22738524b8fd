import { z } from 'zod';
import { SETTINGS_TYPES } from '../../domain/notification-types.ts';
import type { SETTING_KINDS } from '../../domain/settings-notices.ts';
import { type SettingsNotice } from '../../domain/settings-notices.ts';
import { createdAt, eventId, typesOf } from './event-types.schema.ts';
import { enumeration, text, unixSeconds } from './words.schema.ts';

const SETTINGS = {
  webhook_endpoint: 'where you are told what happened',
  policy: 'how payments are judged',
  settlement_address: 'where settlements go',
  change_delay: 'how long changes wait',
} as const satisfies Record<(typeof SETTING_KINDS)[number], string>;

const STATUSES = {
  changed: 'it is in force',
  scheduled: 'it waits, and takes effect by itself',
  withdrawn: 'it was withdrawn while it waited',
  refused: 'it was not possible any more when its time came',
} as const satisfies Record<SettingsNotice['status'], string>;

const ABOUT = 'What the event is about.';

const setting = enumeration('What is changed.', SETTINGS);
const change = z
  .record(z.string(), z.union([z.string(), z.number(), z.boolean(), z.null(), z.array(z.string())]))
  .meta({
    description: 'The values that are set, by the names that the API has for them.',
    examples: [{ url: 'https://new.example/webhooks' }],
  });
const changeId = text('Id of the change, with which it is withdrawn.');
const takesEffectAt = unixSeconds.meta({ description: 'When it takes effect, or did, Unix seconds.' });

/** Body of a webhook about the merchant's settings. */
export const settingsEvent = z
  .object({
    id: eventId,
    type: typesOf(SETTINGS_TYPES),
    created_at: createdAt,
    data: z
      .object({
        object: z
          .looseObject({
            setting,
            status: enumeration('What became of it.', STATUSES),
            change_id: changeId.nullable(),
            takes_effect_at: takesEffectAt,
            changed_by: enumeration('Who asked for it.', {
              merchant: 'a key of yours',
              operator: 'who runs this service',
            }),
            change,
            refusal: text('Why it was not possible any more.').optional(),
          })
          .meta({ description: ABOUT }),
      })
      .meta({ description: ABOUT }),
  })
  .meta({ id: 'SettingsEvent' });

export const pendingChange = z
  .object({
    id: changeId,
    setting,
    change,
    requested_at: unixSeconds.meta({ description: 'When it was asked for, Unix seconds.' }),
    takes_effect_at: takesEffectAt,
  })
  .meta({ id: 'PendingChange' });

export const pendingChanges = z.object({
  data: z.array(pendingChange).meta({ description: 'What waits, in the order in which it was asked for.' }),
});

export type PendingChangeBody = z.output<typeof pendingChange>;
