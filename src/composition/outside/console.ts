import type { AdminCommands, AdminStreams } from '../../operator/server/commands.ts';
import { grantsOf, peopleCommands } from '../../operator/people/people.ts';
import { oidcSingleSignOn } from '../../adapters/oidc/single-sign-on.ts';
import { deepLinks } from '../../checkout/deep-links.ts';
import type { MerchantWebhooks } from '../../features/webhooks/webhooks.ts';
import type { EventStore } from '../../ports/event-log/event-store.ts';
import { consoleRecords, exportedEvents, type ConsoleRecordParts } from './console-records.ts';
import { LANGUAGES } from '../../console/languages.ts';
import { createConsoleApp } from '../../console/server.ts';
import { LiveReaders } from '../../console/live.ts';
import { consoleRoutes } from '../../console/routes.ts';
import type { ConsoleAddress } from '../../console/guard.ts';
import { SSO_CALLBACK, type ConsoleSso } from '../../console/pages/people/sso.ts';
import type { ShownMerchant } from '../../console/visit.ts';
import { InvalidConfig, type Config } from '../../config.ts';
import type { RequestLog } from '../../features/shared/request-log.ts';
import { createHttpServer } from '../../http/server.ts';
import { OnceNumbers } from '../../features/people/passkeys.ts';
import type { Server } from 'node:http';
import type { Core } from '../core.ts';
import type { ServiceParts } from '../service-parts.ts';
import { must } from '../../domain/values/must.ts';
import { codeOf } from '../../runtime/util/code-of.ts';
import { portOf } from '../../runtime/util/port-of.ts';
import { ssoFaults } from '../../settings/console-faults.ts';

const SANDBOX_PORT = 8082;

interface RunningConsole {
  readonly url: string;
  readonly server: Server;
}

interface ConsoleParts {
  readonly core: Core;
  readonly commands: AdminCommands;
  readonly streams: AdminStreams;
  readonly readOnly: () => string | null;
  readonly webhooks: MerchantWebhooks;
  readonly store: EventStore;
  readonly publicUrl: string;
  readonly waitingFor: (refundId: string) => string | null;
  readonly confirmationsOf: ConsoleRecordParts['confirmationsOf'];
  readonly servedRows: ConsoleRecordParts['servedRows'];
  readonly requestLog: RequestLog;
}

/** The console, if enabled, and the operator's commands together with those about its people. */
export async function startPeopleSide(
  service: ServiceParts,
  parts: ConsoleParts,
): Promise<{ readonly console: RunningConsole | null; readonly commands: AdminCommands }> {
  const { people, directory } = parts.core;
  let console: RunningConsole | null = null;
  const ofPeople = peopleCommands({
    people,
    consoleUrl: () => console?.url ?? null,
    isMerchant: (id) => directory.settings(id) !== null,
  });
  const commands = { ...parts.commands, ...ofPeople };
  if (service.roles.api) console = await startConsole(service, { ...parts, commands });
  return { console, commands };
}

/** Null without a port: outside the sandbox the console must be enabled. */
async function startConsole(service: ServiceParts, parts: ConsoleParts): Promise<RunningConsole | null> {
  const { config, sandbox, clock, random, log } = service;
  const asked = config.CONSOLE_PORT ?? (sandbox ? SANDBOX_PORT : null);
  if (asked === null) return null;
  let serve: ReturnType<typeof createConsoleApp> | null = null;
  const server = createHttpServer((request, response) => void must(serve)(request, response), log);
  await listenOn(server, config, asked);
  const address = addressOf(config, server);
  const { core } = parts;
  const merchants = (): ShownMerchant[] =>
    core.merchants.listMerchants().map(({ id, name, mode }) => ({ id, name, mode }));
  const { publicUrl, waitingFor, confirmationsOf, servedRows, store, webhooks, commands, streams, requestLog } = parts;
  const presenter = { publicUrl, networks: service.networks, deepLinks, waitingFor };
  const { readModel } = service.storage;
  const routes = consoleRoutes({
    ...{ address, people: core.people, merchants, commands, streams, webhooks, requestLog },
    records: consoleRecords({ core, store, readModel, clock, presenter, confirmationsOf, servedRows }),
    ...{ api: core.sessions, settings: core.merchants, exportEvents: () => exportedEvents(store) },
  });
  serve = createConsoleApp({
    ...{ address, sandbox, clock, random, log, routes, merchants },
    sso: ssoOf(config, address, (id) => core.directory.settings(id) !== null),
    people: core.people,
    numbers: new OnceNumbers({ clock, random }),
    merchantOf: (id) => {
      const known = core.directory.settings(id);
      return known && { id, name: known.name, mode: known.mode };
    },
    readOnly: parts.readOnly,
    languages: LANGUAGES,
    live: new LiveReaders({ head: () => store.head() }),
  });
  return { url: address.origin, server };
}

/** In a sandbox without a configured port, an occupied port does not prevent the start. */
async function listenOn(server: Server, config: Config, port: number): Promise<void> {
  const listen = (on: number): Promise<void> =>
    new Promise((done, failed) => {
      server.once('error', failed);
      server.listen(on, config.HOST, () => {
        server.off('error', failed);
        done();
      });
    });
  try {
    await listen(port);
  } catch (error) {
    if (config.CONSOLE_PORT !== undefined || codeOf(error) !== 'EADDRINUSE') throw error;
    await listen(0);
  }
}

/** Passkeys need a name, and a numeric address is not one, so this machine is `localhost`. */
function addressOf(config: Config, server: Server): ConsoleAddress {
  const { origin, hostname } = new URL(config.CONSOLE_URL ?? `http://localhost:${portOf(server)}`);
  return { origin, rpId: hostname };
}

/** Throws `InvalidConfig`. */
function ssoOf(
  config: Config,
  { origin }: ConsoleAddress,
  isMerchant: Parameters<typeof grantsOf>[1],
): ConsoleSso | null {
  const faults = ssoFaults(config).filter((fault) => fault !== false);
  if (faults.length > 0) throw new InvalidConfig(faults.join('\n'));
  const { CONSOLE_SSO_ISSUER: issuer, CONSOLE_SSO_CLIENT_ID: clientId } = config;
  if (issuer === undefined || clientId === undefined) return null;
  const { CONSOLE_SSO_CLIENT_SECRET: clientSecret, CONSOLE_SSO_SCOPE: scope } = config;
  return {
    provider: oidcSingleSignOn({ issuer, clientId, clientSecret, scope, redirectUri: `${origin}${SSO_CALLBACK}` }),
    rules: {
      nameClaim: config.CONSOLE_SSO_NAME_CLAIM,
      rolesClaim: config.CONSOLE_SSO_ROLES_CLAIM,
      roles: config.CONSOLE_SSO_ROLES ?? null,
      grantsOf: (text) => grantsOf(text, isMerchant),
    },
  };
}
