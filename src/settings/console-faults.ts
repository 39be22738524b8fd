import type { Config } from '../config.ts';
import { grantsOf } from '../operator/people/people.ts';
import { isLoopbackHost } from '../runtime/http/loopback-request.ts';
import { messageOf } from '../runtime/util/message-of.ts';
import { grantFault } from '../../state-machines/person/person.decider.ts';

/** Multi-tenant addresses of Entra ID, where each tenant may give its people any role. */
const OF_ANY_TENANT = /^\/(common|organizations|consumers)(\/v2\.0)?(\/\.well-known\/.*)?\/?$/i;

/** Faults in the settings of single sign-on, in words for the operator. */
export function ssoFaults({
  CONSOLE_SSO_ISSUER: issuer,
  CONSOLE_SSO_CLIENT_ID: clientId,
  CONSOLE_SSO_ROLES: roles,
}: Config): (string | false)[] {
  if (issuer === undefined)
    return [
      clientId !== undefined &&
        'CONSOLE_SSO_ISSUER is missing: the URL of the provider that registered CONSOLE_SSO_CLIENT_ID',
    ];
  const { protocol, hostname, pathname } = new URL(issuer);
  return [
    OF_ANY_TENANT.test(pathname) &&
      'CONSOLE_SSO_ISSUER must be your own tenant, as in https://login.microsoftonline.com/TENANT-ID/v2.0: common, organizations and consumers let people of any tenant in',
    clientId === undefined && "CONSOLE_SSO_CLIENT_ID is missing: the console's client id at CONSOLE_SSO_ISSUER",
    protocol !== 'https:' &&
      !isLoopbackHost(hostname) &&
      'CONSOLE_SSO_ISSUER must start with https://: anyone who can read the traffic could sign in as anybody',
    ...Object.values(roles ?? {}).map(roleFault),
  ];
}

function roleFault(text: string): string | false {
  try {
    const fault = grantsOf(text, () => true).flatMap((grant) => grantFault(grant) ?? [])[0];
    return fault !== undefined && `CONSOLE_SSO_ROLES: ${fault}`;
  } catch (error) {
    return `CONSOLE_SSO_ROLES: ${messageOf(error)}`;
  }
}

/** Faults in the console settings. Passkeys need https everywhere except on this machine. */
export function consoleFaults(config: Config): (string | false)[] {
  const { CONSOLE_PORT, CONSOLE_URL, PUBLIC_URL, PORT } = config;
  if (CONSOLE_PORT === undefined) return [];
  if (CONSOLE_URL === undefined) return ['CONSOLE_URL is missing: the https URL of the console'];
  const { protocol, hostname, origin } = new URL(CONSOLE_URL);
  return [
    ...ssoFaults(config),
    protocol !== 'https:' &&
      hostname !== 'localhost' &&
      'CONSOLE_URL must start with https://: browsers support passkeys only there',
    /^[\d.]+$|:/.test(hostname) && 'CONSOLE_URL must have a host name: passkeys are bound to names, not to addresses',
    CONSOLE_PORT !== 0 &&
      CONSOLE_PORT === PORT &&
      'CONSOLE_PORT must differ from PORT: the console needs its own origin',
    PUBLIC_URL !== undefined &&
      new URL(PUBLIC_URL).origin === origin &&
      "CONSOLE_URL must have a different origin than PUBLIC_URL: code on the payer's page must not reach the console",
  ];
}
