import type { MerchantEvent, WebhookEndpointSet } from '../../src/domain/events/merchant-events.ts';
import { isOutcomeType, NOTIFICATION_FIELDS, NOTIFICATION_TYPES } from '../../src/domain/notifications/types.ts';
import { accept, refuse, type Decision } from '../../src/domain/values/result.ts';
import {
  endpointIn,
  nextSecretVersion,
  type EndpointState,
  type MerchantContext,
  merchantIdOf,
} from './merchant.state.ts';

/** The settings of an endpoint. */
interface EndpointChoice {
  readonly durableRedelivery?: boolean;
  readonly events?: readonly string[];
  readonly fields?: readonly string[];
  readonly standardWebhooks?: boolean;
}

/**
 * The delay of the change, if the merchant's changes are delayed. Absent: it was already delayed, or is the first of
 * its kind.
 */
export interface MayWait {
  readonly wait?: Waiting;
}

export interface Waiting {
  readonly changeId: string;
  readonly nowSec: number;
  readonly requestedBy: string;
  /** Default for live merchants without a delay of their own. */
  readonly installationMinutes: number;
}

/** Without `endpointId`, commands mean the default endpoint. */
export type EndpointCommand =
  | (EndpointChoice &
      MayWait & {
        readonly type: 'AddEndpoint';
        readonly endpointId: string;
        readonly url: string;
        readonly sealedSecret: string;
        readonly events: readonly string[];
      })
  /** Null removes the URL; the endpoint keeps its id and secret for the next one. Absent fields are unchanged. */
  | (EndpointChoice &
      MayWait & {
        readonly type: 'SetWebhook';
        readonly endpointId?: string;
        readonly url?: string | null;
        readonly disabled?: boolean;
      })
  | {
      readonly type: 'IssueWebhookSecret';
      readonly endpointId?: string;
      readonly sealedSecret: string;
      readonly version: number;
      readonly activatesAtSec: number;
      readonly nowSec: number;
    }
  | { readonly type: 'ActivateWebhookSecret'; readonly endpointId?: string }
  | { readonly type: 'SuspendEndpoint'; readonly endpointId: string; readonly reason: 'only_failures' | 'gone' }
  | { readonly type: 'ResumeEndpoint'; readonly endpointId?: string };

/** Enough for one per service of the merchant. */
const MAX_FURTHER_ENDPOINTS = 15;

/** Defaults of a new endpoint. */
export const NEW_ENDPOINT = {
  durableRedelivery: false,
  fields: [],
  disabled: false,
  standardWebhooks: false,
} as const satisfies Partial<WebhookEndpointSet['data']>;

type Of<Type extends EndpointCommand['type']> = Extract<EndpointCommand, { type: Type }>;

/** Decides the commands of a merchant's webhook endpoints. */
export function decideEndpoint(command: EndpointCommand, context: MerchantContext): Decision<MerchantEvent> {
  const endpoint = endpointIn(context, command.endpointId);
  if (command.type === 'AddEndpoint') return endpoint ? accept() : addEndpoint(command, context);
  if (!endpoint) return refuse('not_found', 'no such endpoint');
  switch (command.type) {
    case 'SetWebhook':
      return setWebhook(command, endpoint, context);
    case 'IssueWebhookSecret':
      return issueWebhookSecret(command, endpoint, context);
    case 'ActivateWebhookSecret':
      return endpoint.next
        ? accept(activated(subjectOf(endpoint, context)))
        : refuse('invalid_request', 'no webhook secret was issued; issue one first');
    case 'SuspendEndpoint':
      return endpoint.suspended !== null
        ? accept()
        : accept({
            type: 'WebhookEndpointSuspended',
            data: { ...subjectOf(endpoint, context), reason: command.reason },
          });
    case 'ResumeEndpoint':
      return endpoint.suspended === null
        ? accept()
        : accept({ type: 'WebhookEndpointResumed', data: subjectOf(endpoint, context) });
  }
}

function addEndpoint(
  { endpointId, url, sealedSecret, ...choice }: Of<'AddEndpoint'>,
  context: MerchantContext,
): Decision<MerchantEvent> {
  if (Object.keys(context.furtherEndpoints).length >= MAX_FURTHER_ENDPOINTS)
    return refuse(
      'invalid_request',
      `a merchant has at most ${MAX_FURTHER_ENDPOINTS + 1} endpoints; change an existing one`,
    );
  const chosen = chosenOf(choice, { ...NEW_ENDPOINT, events: [] }, false);
  if (!chosen.ok) return chosen;
  const data = { merchantId: merchantIdOf(context), endpointId, url, sealedSecret, ...chosen.value, disabled: false };
  return accept({ type: 'WebhookEndpointSet', data });
}

function setWebhook(
  command: Of<'SetWebhook'>,
  endpoint: EndpointState,
  context: MerchantContext,
): Decision<MerchantEvent> {
  const isDefault = endpoint === context.endpoint;
  const chosen = chosenOf(command, endpoint, isDefault);
  if (!chosen.ok) return chosen;
  const url = command.url === undefined ? endpoint.url : command.url;
  if (url === null && !isDefault)
    return refuse('invalid_request', 'url must be an https URL; disable the endpoint instead', 'url');
  const disabled = command.disabled ?? endpoint.disabled;
  const after = { url, disabled, ...chosen.value };
  const isSame = JSON.stringify(after) === JSON.stringify(chosenIn(endpoint));
  // Setting a suspended endpoint again resumes it.
  if (isSame && endpoint.suspended === null) return accept();
  return accept({
    type: 'WebhookEndpointSet',
    data: { ...subjectOf(endpoint, context), sealedSecret: null, ...after },
  });
}

const chosenIn = ({ url, disabled, durableRedelivery, events, fields, standardWebhooks }: EndpointState) => ({
  ...{ url, disabled, durableRedelivery, events, fields, standardWebhooks },
});

type Chosen = Pick<WebhookEndpointSet['data'], 'durableRedelivery' | 'events' | 'fields' | 'standardWebhooks'>;

/** Merges the given settings into the existing ones. Lists are sorted, so that equal settings are equal. */
function chosenOf(
  choice: EndpointChoice,
  before: Chosen,
  isDefault: boolean,
): { ok: true; value: Chosen } | (Decision<never> & { ok: false }) {
  const { events: asked, fields: askedFields } = choice;
  const fault = listFault(asked, NOTIFICATION_TYPES, 'events') ?? listFault(askedFields, NOTIFICATION_FIELDS, 'fields');
  if (fault) return fault;
  if (asked?.length === 0 && !isDefault) return refused('events must name at least one event type', 'events');
  const events = asked
    ? NOTIFICATION_TYPES.filter((type) => asked.includes(type) || (isDefault && isOutcomeType(type)))
    : before.events;
  const fields = askedFields ? NOTIFICATION_FIELDS.filter((field) => askedFields.includes(field)) : before.fields;
  const { durableRedelivery = before.durableRedelivery, standardWebhooks = before.standardWebhooks } = choice;
  return { ok: true, value: { durableRedelivery, events, fields, standardWebhooks } };
}

type Refused = Decision<never> & { ok: false };
const refused = (message: string, param: string): Refused => refuse('invalid_request', message, param);

function listFault(asked: readonly string[] | undefined, known: readonly string[], param: string): Refused | null {
  if (asked === undefined || (asked.every((one) => known.includes(one)) && new Set(asked).size === asked.length))
    return null;
  return refused(`${param} must be a list of ${known.join(', ')}, each at most once`, param);
}

/** Issuing again replaces a secret that is not active yet: it may have been lost before its first use. */
function issueWebhookSecret(
  { sealedSecret, version, activatesAtSec, nowSec }: Of<'IssueWebhookSecret'>,
  endpoint: EndpointState,
  context: MerchantContext,
): Decision<MerchantEvent> {
  if (endpoint.next?.sealed === sealedSecret || endpoint.current.sealed === sealedSecret) return accept();
  // The text opens only under the version for which it was sealed.
  if (version !== nextSecretVersion(endpoint)) return refuse('conflict', 'another secret was issued at the same time');
  const subject = subjectOf(endpoint, context);
  const issued: MerchantEvent = {
    type: 'WebhookSecretRotated',
    data: { ...subject, step: 'issued', sealedSecret, activatesAtSec },
  };
  const tookOver = endpoint.next !== null && nowSec >= endpoint.next.activatesAtSec;
  return tookOver ? accept<MerchantEvent>(activated(subject), issued) : accept(issued);
}

const subjectOf = ({ endpointId }: EndpointState, context: MerchantContext) => ({
  merchantId: merchantIdOf(context),
  endpointId,
});

const activated = (subject: ReturnType<typeof subjectOf>): MerchantEvent => ({
  type: 'WebhookSecretRotated',
  data: { ...subject, step: 'activated', sealedSecret: null, activatesAtSec: null },
});
