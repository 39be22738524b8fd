import { createHmac } from 'node:crypto';
import { withoutSecretsOf } from '../../adapters/rpc/address-secrets.ts';
import { readConfig, type Config } from '../../config.ts';
import { CommandRefused } from '../../operator/server/commands.ts';
import type { LiveSettings } from '../../operator/settings.ts';
import { messageOf } from '../../runtime/util/message-of.ts';
import { SEALED_KINDS, type SealingKeys } from '../../runtime/cryptography/sealing.ts';
import { providerUrlsName } from '../../settings/providers.ts';
import type { NetworkAccess, RunningAccess } from '../../settings/network-access.ts';
import { lookAtProvider } from '../../doctor/provider-look.ts';
import { secondSourceFrom } from '../../settings/providers.ts';

export interface LiveProvidersParts {
  readonly access: readonly RunningAccess[];
  readonly config: Pick<Config, 'SECOND_SOURCE_FROM'>;
  readonly sealingKeys: SealingKeys;
  /** Throws the reason if a provider cannot be used. */
  readonly look?: typeof lookAtProvider;
}

const FINGERPRINT_DIGITS = 8;
const ONE_SOURCE =
  'has one provider, so large payments would count on its word alone, without a second source: add one of another host, or restart to go without; nothing was changed';

/**
 * The provider lists as settings that can change without a restart. A new list applies as a whole, once each added
 * provider has been verified.
 */
export function liveProviders({
  access,
  config,
  sealingKeys,
  look = lookAtProvider,
}: LiveProvidersParts): LiveSettings {
  const namesOf = (urls: readonly string[]): string => urls.map((url) => named(url, sealingKeys)).join(',');
  const all = access.map((network) => ({ name: nameOf(network), network, atStart: namesOf(network.urls) }));
  return {
    shown: () => all.map(({ name, network, atStart }) => ({ name, value: namesOf(network.urls), atStart })),
    prepare: async (changes) => {
      const wanted = all.flatMap(({ name, network }) =>
        changes[name] === undefined ? [] : [{ name, network, urls: listIn(name, changes[name]) }],
      );
      for (const { name, network, urls } of wanted)
        if (endsSecondSource(config, network, urls)) throw new CommandRefused(`${name} ${ONE_SOURCE}`);
      await Promise.all(wanted.map(({ name, network, urls }) => proveNew(name, network, urls, look)));
      return {
        loggable: Object.fromEntries(wanted.map(({ name, urls }) => [name, namesOf(urls)])),
        apply: () => {
          for (const { network, urls } of wanted) network.urls = urls;
        },
      };
    },
  };
}

const nameOf = ({ settings: { mode, network } }: NetworkAccess) => providerUrlsName(mode, network);

/**
 * Payments in progress were accepted under that rule, and a change that does not mention it must not let them through.
 */
const endsSecondSource = (
  config: LiveProvidersParts['config'],
  network: NetworkAccess,
  urls: readonly string[],
): boolean => secondSourceFrom(config, network) !== null && secondSourceFrom(config, { ...network, urls }) === null;

/** Names a provider by its host and a fingerprint of the whole URL, whose path or query may be a key. */
function named(url: string, sealingKeys: SealingKeys): string {
  const key = SEALED_KINDS.map((kind) => sealingKeys[kind]).find((list) => list !== null)?.keys[0].material;
  const host = new URL(url).host;
  return key
    ? `${host}#${createHmac('sha256', key).update(`provider|${url}`).digest('hex').slice(0, FINGERPRINT_DIGITS)}`
    : host;
}

/** Parses the list like a start does. Throws `CommandRefused`, which repeats no URL. */
function listIn(name: ReturnType<typeof providerUrlsName>, text: string): readonly string[] {
  const urls = readConfig({ [name]: text })[name] ?? [];
  if (urls.length === 0) throw new CommandRefused(`${name} is empty; nothing was changed`);
  const bad = urls.findIndex((url) => !/^https?:$/.test(URL.parse(url)?.protocol ?? ''));
  if (bad >= 0) throw new CommandRefused(`${name}: entry ${bad + 1} is not an http or https URL; nothing was changed`);
  if (new Set(urls).size < urls.length) throw new CommandRefused(`${name} contains a URL twice; nothing was changed`);
  return urls;
}

async function proveNew(
  name: string,
  network: NetworkAccess,
  urls: readonly string[],
  look: typeof lookAtProvider,
): Promise<void> {
  for (const url of urls.filter((each) => !network.urls.includes(each))) {
    // Faults also quote results, which may contain a key.
    const clean = withoutSecretsOf(url, network.headers ?? {});
    const refused = (why: string): CommandRefused =>
      new CommandRefused(`${name}: ${new URL(url).host} ${clean(why)}; nothing was changed`);
    const { historyFault } = await look(network, url).catch((error: unknown) => {
      throw refused(`cannot be used: ${messageOf(error)}`);
    });
    if (historyFault !== null) throw refused(historyFault);
  }
}
