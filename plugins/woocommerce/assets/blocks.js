/* The payment method in the checkout that is made of blocks; plain script, nothing to build. */
(() => {
  const { wc, wp } = window;
  const { title, description, button, supports } = wc.wcSettings.getPaymentMethodData('quittance', {});
  const text = wp.htmlEntities.decodeEntities;
  const element = wp.element.createElement;

  const Label = ({ components: { PaymentMethodLabel } }) => element(PaymentMethodLabel, { text: text(title) });
  const content = element('div', null, text(description));

  wc.wcBlocksRegistry.registerPaymentMethod({
    name: 'quittance',
    label: element(Label),
    ariaLabel: text(title),
    content,
    edit: content,
    canMakePayment: () => true,
    placeOrderButtonLabel: button,
    supports: { features: supports },
  });
})();
