import { refuse, type Refused } from '../../domain/values/result.ts';
import { UNRESTRICTED, type KeyRestrictions } from '../../domain/api-keys.ts';
import type { MerchantChangeScheduled, MerchantPolicy } from '../../domain/events/merchant-events.ts';
import type { ApiKeyId, MerchantId, Mode } from '../../domain/values/ids.ts';
import { merchantStream } from '../../domain/values/streams.ts';
import { toSec } from '../../ports/clock.ts';
import type { Network } from '../../domain/networks/networks.ts';
import type { Waiting } from '../../../state-machines/merchant/endpoints.decider.ts';
import type { MerchantState } from '../../../state-machines/merchant/merchant.decider.ts';
import type { MerchantCommand, PolicyBounds } from '../../../state-machines/merchant/merchant.commands.ts';
import { endpointIn, nextSecretVersion, type KeyState } from '../../../state-machines/merchant/merchant.state.ts';
import type { Outcome } from '../shared/merchant-api.ts';
import { newChangeId, newDomainId, newEndpointId, newMerchantId, newWebhookSecret } from './credentials.ts';
import { keepNothing, keptParts, openWebhookSecret, sealWebhookSecret, type Keep } from './webhook-secrets.ts';
import { readLogo } from './logo.ts';
import type { ChangedBy, MerchantsDeps } from './merchants-deps.ts';
import { newKey, type NewKey, type NewMerchant, type NewWebhookSecret } from './new-key.ts';
import { overviewOf, type MerchantOverview, type WebhookOverview } from './overview.ts';
import { addressFault, invalidHost, normalHost, noSuchMerchant } from './refused.ts';
import { must } from '../../domain/values/must.ts';

/**
 * How long the old webhook secret keeps signing the main header after a new one was issued, unless that is activated
 * earlier.
 */
const ROTATION_SEC = 86_400;

/**
 * Registers merchants and changes their settings. A change is in force on this node when its call returns. A refusal is
 * a value; rejects with `StoreUnavailable` when the outcome is unknown.
 */
export class Merchants {
  readonly #deps: MerchantsDeps;

  constructor(deps: MerchantsDeps) {
    this.#deps = deps;
  }

  async registerMerchant(
    input: { readonly name: string; readonly mode: Mode; readonly webhookUrl?: string },
    by: ChangedBy,
  ): Promise<Outcome<NewMerchant>> {
    const { random, sealer } = this.#deps;
    const { name, mode } = input;
    const url = this.#vet(input.webhookUrl ?? null, 'webhook_url');
    if (!url.ok) return url;
    const merchantId = newMerchantId(random);
    const { issued, shown } = newKey(this.#deps, merchantId, mode);
    const endpointId = newEndpointId(random);
    const webhookSecret = newWebhookSecret(mode, random);
    const sealedSecret = sealWebhookSecret(sealer, { merchantId, endpointId, version: 1 }, webhookSecret);
    const endpoint = { endpointId, url: url.value, sealedSecret };
    const done = await this.#execute(
      merchantId,
      { type: 'RegisterMerchant', merchant: { merchantId, name, mode }, key: issued, endpoint },
      by,
    );
    return done.ok ? { ok: true, value: { id: merchantId, mode, ...shown, webhook_secret: webhookSecret } } : done;
  }

  /** An additional key, for rotation. Existing keys work until they are revoked. */
  async issueKey(
    merchantId: MerchantId,
    restrictions: Partial<KeyRestrictions>,
    by: ChangedBy,
  ): Promise<Outcome<NewKey>> {
    const mode = await this.#modeOf(merchantId);
    if (mode === null) return noSuchMerchant;
    const fault = addressFault(restrictions);
    if (fault) return fault;
    const { issued, shown } = newKey(this.#deps, merchantId, mode);
    const key =
      Object.keys(restrictions).length === 0
        ? issued
        : { ...issued, restrictions: { ...UNRESTRICTED, ...restrictions } };
    const done = await this.#execute(merchantId, { type: 'IssueKey', key }, by);
    return done.ok ? { ok: true, value: shown } : done;
  }

  /** Changes only the given restrictions, with effect from the next request. */
  async restrictKey(
    merchantId: MerchantId,
    keyId: ApiKeyId,
    restrictions: Partial<KeyRestrictions>,
    by: ChangedBy,
  ): Promise<Outcome<MerchantOverview>> {
    return addressFault(restrictions) ?? this.#change(merchantId, { type: 'RestrictKey', keyId, restrictions }, by);
  }

  revokeKey(merchantId: MerchantId, keyId: ApiKeyId, by: ChangedBy): Promise<Outcome<MerchantOverview>> {
    return this.#change(merchantId, { type: 'RevokeKey', keyId }, by);
  }

  /**
   * A null URL stops deliveries; the endpoint keeps its secret for the next URL. Absent fields are unchanged. Resumes a
   * suspended endpoint.
   */
  async setWebhook(
    merchantId: MerchantId,
    input: Omit<Extract<MerchantCommand, { type: 'SetWebhook' }>, 'type'>,
    by: ChangedBy,
  ): Promise<Outcome<MerchantOverview>> {
    if (input.url === undefined) return this.#change(merchantId, { type: 'SetWebhook', ...input }, by);
    const url = this.#vet(input.url, 'url');
    if (!url.ok) return url;
    return this.#change(merchantId, { type: 'SetWebhook', ...input, url: url.value }, by);
  }

  /**
   * Returns a new secret that takes over after 24 hours, or when it is activated. `keep` stores the sealed secret of
   * the first request with an idempotency key and returns it to repetitions.
   */
  async issueWebhookSecret(
    merchantId: MerchantId,
    by: ChangedBy,
    keep: Keep = keepNothing,
    named?: string,
  ): Promise<Outcome<NewWebhookSecret>> {
    const { handler, random, sealer, clock } = this.#deps;
    const state = await handler.read(merchantStream(merchantId));
    const endpoint = state && endpointIn(state.context, named);
    const mode = state?.context.registered?.mode;
    if (!endpoint || !mode) return noSuchMerchant;
    const { endpointId } = endpoint;
    const newest = nextSecretVersion(endpoint);
    const of = { merchantId, endpointId, version: newest };
    const kept = await keep(`${newest}:${sealWebhookSecret(sealer, of, newWebhookSecret(mode, random))}`);
    if (!kept.ok) return kept;
    const [digits, sealedSecret] = keptParts(kept.value);
    const version = Number(digits);
    const nowSec = toSec(clock.nowMs());
    const times = { activatesAtSec: nowSec + ROTATION_SEC, nowSec };
    const command = { type: 'IssueWebhookSecret', endpointId, sealedSecret, version, ...times } as const;
    const done = await this.#execute(merchantId, command, by);
    if (!done.ok) return done;
    const { next } = must(endpointIn(done.value.context, endpointId));
    return {
      ok: true,
      value: {
        webhook_secret: openWebhookSecret(sealer, { ...of, version }, sealedSecret),
        activates_at: next?.version === version ? next.activatesAtSec : nowSec,
      },
    };
  }

  /** Activates an issued secret at once. */
  activateWebhookSecret(
    merchantId: MerchantId,
    by: ChangedBy,
    endpointId?: string,
  ): Promise<Outcome<MerchantOverview>> {
    return this.#change(
      merchantId,
      { type: 'ActivateWebhookSecret', ...(endpointId !== undefined && { endpointId }) },
      by,
    );
  }

  resumeWebhook(merchantId: MerchantId, by: ChangedBy, endpointId?: string): Promise<Outcome<MerchantOverview>> {
    return this.#change(merchantId, { type: 'ResumeEndpoint', ...(endpointId !== undefined && { endpointId }) }, by);
  }

  /** Adds an endpoint with its own secret. `keep` stores what a repetition needs to return the same endpoint. */
  async addWebhook(
    merchantId: MerchantId,
    input: Omit<Extract<MerchantCommand, { type: 'AddEndpoint' }>, 'type' | 'endpointId' | 'sealedSecret'>,
    by: ChangedBy,
    keep: Keep = keepNothing,
  ): Promise<Outcome<{ readonly endpoint: WebhookOverview; readonly webhook_secret: string }>> {
    const { random, sealer } = this.#deps;
    const mode = await this.#modeOf(merchantId);
    if (mode === null) return noSuchMerchant;
    const url = this.#vet(input.url, 'url');
    if (!url.ok) return url;
    const fresh = newEndpointId(random);
    const of = { merchantId, endpointId: fresh, version: 1 };
    const kept = await keep(`${fresh}:${sealWebhookSecret(sealer, of, newWebhookSecret(mode, random))}`);
    if (!kept.ok) return kept;
    const [endpointId, sealedSecret] = keptParts(kept.value);
    const done = await this.#change(
      merchantId,
      { type: 'AddEndpoint', ...input, url: must(url.value), endpointId, sealedSecret },
      by,
    );
    if (!done.ok) return done;
    const endpoint = must(done.value.further_webhooks.find(({ endpoint_id: id }) => id === endpointId));
    return {
      ok: true,
      value: { endpoint, webhook_secret: openWebhookSecret(sealer, { ...of, endpointId }, sealedSecret) },
    };
  }

  async addDomain(
    merchantId: MerchantId,
    input: { readonly host: string; readonly name: string },
    by: ChangedBy,
  ): Promise<Outcome<{ readonly domain_id: string; readonly host: string }>> {
    const host = normalHost(input.host);
    if (host === null) return invalidHost;
    const done = await this.#execute(
      merchantId,
      { type: 'AddDomain', domainId: newDomainId(this.#deps.random), host, shopName: input.name },
      by,
    );
    if (!done.ok) return done;
    const added = Object.values(done.value.context.domains).find((domain) => domain.host === host);
    return { ok: true, value: { domain_id: must(added).domainId, host } };
  }

  removeDomain(merchantId: MerchantId, domainId: string, by: ChangedBy): Promise<Outcome<MerchantOverview>> {
    return this.#change(merchantId, { type: 'RemoveDomain', domainId }, by);
  }

  /** Changes only the given settings. Rejects values beyond the operator's bounds. */
  setPolicy(
    merchantId: MerchantId,
    policy: Partial<MerchantPolicy>,
    by: ChangedBy,
  ): Promise<Outcome<MerchantOverview>> {
    return this.#change(merchantId, { type: 'SetPolicy', policy, ...this.#policyBounds() }, by);
  }

  /** A PNG image in base64; null removes the logo. */
  async setLogo(merchantId: MerchantId, image: string | null, by: ChangedBy): Promise<Outcome<MerchantOverview>> {
    if (image === null) return this.#change(merchantId, { type: 'SetLogo', logo: null }, by);
    const read = readLogo(image);
    if (!read.ok) return refuse('invalid_request', `logo ${read.why}`, 'logo');
    return this.#change(merchantId, { type: 'SetLogo', logo: read.logo }, by);
  }

  getMerchant(merchantId: MerchantId): MerchantOverview | null {
    const state = this.#deps.directory.state(merchantId);
    return state ? this.#overviewOf(state) : null;
  }

  listMerchants(): MerchantOverview[] {
    return this.#deps.directory.merchantIds().flatMap((id) => this.getMerchant(id) ?? []);
  }

  /** Requires the agreement of two operators, whose approvals are in the signer's journal. */
  setSettlementAddress(
    merchantId: MerchantId,
    destination: { readonly network: Network; readonly address: string; readonly approvers: readonly string[] },
    by: ChangedBy,
  ): Promise<Outcome<MerchantOverview>> {
    return this.#change(merchantId, { type: 'SetSettlementAddress', ...destination }, by);
  }

  /** Null: the default of the installation. A shorter delay takes effect only after the current one. */
  setChangeDelay(merchantId: MerchantId, minutes: number | null, by: ChangedBy): Promise<Outcome<MerchantOverview>> {
    return this.#change(merchantId, { type: 'SetChangeDelay', minutes }, by);
  }

  withdrawChange(merchantId: MerchantId, changeId: string, by: ChangedBy): Promise<Outcome<MerchantOverview>> {
    return this.#change(merchantId, { type: 'WithdrawChange', changeId }, by);
  }

  /** Applies a change whose time has come. Does nothing if it was withdrawn or is already in force. */
  applyChange(pending: MerchantChangeScheduled['data']): Promise<Outcome<MerchantOverview>> {
    const { merchantId, changeId, requestedBy } = pending;
    const command = {
      type: 'ApplyChange',
      changeId,
      nowSec: toSec(this.#deps.clock.nowMs()),
      ...this.#policyBounds(),
    } as const;
    return this.#change(merchantId, command, { actor: requestedBy, correlationId: changeId });
  }

  #policyBounds(): PolicyBounds {
    const { finalityFloor: floor, toleranceBounds: tolerance } = this.#deps;
    return { floor, tolerance };
  }

  async #change(merchantId: MerchantId, command: MerchantCommand, by: ChangedBy): Promise<Outcome<MerchantOverview>> {
    const done = await this.#execute(merchantId, command, by);
    return done.ok ? { ok: true, value: this.#overviewOf(done.value) } : done;
  }

  #overviewOf(state: MerchantState): MerchantOverview {
    const { clock, directory, finalityFloor: floor, changeDelayMinutes } = this.#deps;
    const lastUseOf = (key: KeyState): number | null => directory.lastUseOf(key);
    return overviewOf(state, {
      nowSec: toSec(clock.nowMs()),
      lastUseOf,
      floor,
      installationDelayMin: changeDelayMinutes,
    });
  }

  async #execute(merchantId: MerchantId, command: MerchantCommand, by: ChangedBy): Promise<Outcome<MerchantState>> {
    const { handler, directory } = this.#deps;
    const guarded = GUARDED.has(command.type) ? { ...command, wait: this.#waiting(by) } : command;
    const done = await handler.execute(merchantStream(merchantId), guarded, by, {
      expectNew: command.type === 'RegisterMerchant',
    });
    if (!done.ok) return { ok: false, refusal: done.refusal };
    if (done.events.length > 0) await directory.catchUp();
    return { ok: true, value: done.state };
  }

  #waiting({ actor }: ChangedBy): Waiting {
    const { clock, random, changeDelayMinutes } = this.#deps;
    return {
      changeId: newChangeId(random),
      nowSec: toSec(clock.nowMs()),
      requestedBy: actor,
      installationMinutes: changeDelayMinutes,
    };
  }

  async #modeOf(merchantId: MerchantId): Promise<Mode | null> {
    return (await this.#deps.handler.read(merchantStream(merchantId)))?.context.registered?.mode ?? null;
  }

  #vet(url: string | null, param: string): { ok: true; value: string | null } | Refused {
    if (url === null) return { ok: true, value: null };
    const vetted = this.#deps.vetWebhookUrl(url);
    if (vetted.ok) return { ok: true, value: vetted.url };
    return refuse('invalid_request', `${param} ${vetted.reason}`, param);
  }
}

/** Settings that a thief with a key would change first, so changes to them can be delayed. */
const GUARDED: ReadonlySet<MerchantCommand['type']> = new Set<MerchantCommand['type']>([
  'SetWebhook',
  'AddEndpoint',
  'SetPolicy',
  'SetSettlementAddress',
  'SetChangeDelay',
]);
