/* SPDX-License-Identifier: Apache-2.0
 * optimizer_updates.cl: one kernel per optimizer update. The including file defines UPDATE(name,
 * arguments), the kernel, and PLACE(i, g, grad), which sets i, the index of the element of the
 * variable and its slots, and g, its gradient.
 *
 * Arguments are the op's inputs in order, the new values of the variable and its slots (in place or
 * not) and a flag of the op (0 if it has none). Scalars such as a learning rate are in memory, too:
 * they may be computed on the device. */
UPDATE(gradient_descent, IN(T, var), IN(T, alpha), IN(T, delta), OUT(T, var_), SIZE(flag)) {
  PLACE(i, g, delta);
  (void)flag;
  var_[i] = (T)((C)var[i] - g * value(alpha));
}

UPDATE(momentum, IN(T, var), IN(T, accum), IN(T, lr), IN(T, grad), IN(T, momentum),
       OUT(T, var_), OUT(T, accum_), SIZE(nesterov)) {
  PLACE(i, g, grad);
  const C rate = value(lr), keep = value(momentum);
  const C a = (C)accum[i] * keep + g;
  accum_[i] = (T)a;
  var_[i] = (T)((C)var[i] - (nesterov ? g * rate + a * keep * rate : a * rate));
}

UPDATE(keras_momentum, IN(T, var), IN(T, accum), IN(T, lr), IN(T, grad), IN(T, momentum),
       OUT(T, var_), OUT(T, accum_), SIZE(nesterov)) {
  PLACE(i, g, grad);
  const C step = g * value(lr), keep = value(momentum);
  const C a = (C)accum[i] * keep - step;
  accum_[i] = (T)a;
  var_[i] = (T)((C)var[i] + (nesterov ? a * keep - step : a));
}

UPDATE(adagrad, IN(T, var), IN(T, accum), IN(T, lr), IN(T, grad), OUT(T, var_),
       OUT(T, accum_), SIZE(update)) {
  PLACE(i, g, grad);
  const C a = (C)accum[i] + (update ? g * g : 0);
  accum_[i] = (T)a;
  var_[i] = (T)((C)var[i] - g * value(lr) / sqrt(a));
}

UPDATE(adagrad_v2, IN(T, var), IN(T, accum), IN(T, lr), IN(T, epsilon), IN(T, grad),
       OUT(T, var_), OUT(T, accum_), SIZE(update)) {
  PLACE(i, g, grad);
  const C a = (C)accum[i] + (update ? g * g : 0);
  accum_[i] = (T)a;
  var_[i] = (T)((C)var[i] - g * value(lr) / (sqrt(a) + value(epsilon)));
}

UPDATE(adadelta, IN(T, var), IN(T, accum), IN(T, accum_update), IN(T, lr), IN(T, rho),
       IN(T, epsilon), IN(T, grad), OUT(T, var_), OUT(T, accum_), OUT(T, accum_update_),
       SIZE(flag)) {
  PLACE(i, g, grad);
  (void)flag;
  const C keep = value(rho), least = value(epsilon), u = (C)accum_update[i];
  const C a = (C)accum[i] * keep + g * g * (1 - keep);
  const C step = sqrt(u + least) / sqrt(a + least) * g;
  accum_[i] = (T)a;
  var_[i] = (T)((C)var[i] - step * value(lr));
  accum_update_[i] = (T)(u * keep + step * step * (1 - keep));
}

UPDATE(rms_prop, IN(T, var), IN(T, ms), IN(T, mom), IN(T, lr), IN(T, rho), IN(T, momentum),
       IN(T, epsilon), IN(T, grad), OUT(T, var_), OUT(T, ms_), OUT(T, mom_), SIZE(flag)) {
  PLACE(i, g, grad);
  (void)flag;
  const C s = (C)ms[i] + (g * g - (C)ms[i]) * (1 - value(rho));
  const C m = (C)mom[i] * value(momentum) + g * value(lr) / sqrt(s + value(epsilon));
  ms_[i] = (T)s;
  mom_[i] = (T)m;
  var_[i] = (T)((C)var[i] - m);
}

UPDATE(centered_rms_prop, IN(T, var), IN(T, mg), IN(T, ms), IN(T, mom), IN(T, lr),
       IN(T, rho), IN(T, momentum), IN(T, epsilon), IN(T, grad), OUT(T, var_), OUT(T, mg_),
       OUT(T, ms_), OUT(T, mom_), SIZE(flag)) {
  PLACE(i, g, grad);
  (void)flag;
  const C part = 1 - value(rho);
  const C s = (C)ms[i] + (g * g - (C)ms[i]) * part, mean = (C)mg[i] + (g - (C)mg[i]) * part;
  const C spread = s - mean * mean + value(epsilon);
  const C m = (C)mom[i] * value(momentum) + g * value(lr) / sqrt(spread);
  ms_[i] = (T)s;
  mg_[i] = (T)mean;
  mom_[i] = (T)m;
  var_[i] = (T)((C)var[i] - m);
}

UPDATE(adam, IN(T, var), IN(T, m), IN(T, v), IN(T, beta1_power), IN(T, beta2_power),
       IN(T, lr), IN(T, beta1), IN(T, beta2), IN(T, epsilon), IN(T, grad), OUT(T, var_),
       OUT(T, m_), OUT(T, v_), SIZE(nesterov)) {
  PLACE(i, g, grad);
  const C b1 = value(beta1);
  const C alpha = value(lr) * sqrt(1 - value(beta2_power)) / (1 - value(beta1_power));
  const C mean = (C)m[i] + (g - (C)m[i]) * (1 - b1);
  const C square = (C)v[i] + (g * g - (C)v[i]) * (1 - value(beta2));
  m_[i] = (T)mean;
  v_[i] = (T)square;
  var_[i] = (T)((C)var[i] - (nesterov ? g * (1 - b1) + b1 * mean : mean) * alpha /
                               (sqrt(square) + value(epsilon)));
}

UPDATE(ada_max, IN(T, var), IN(T, m), IN(T, v), IN(T, beta1_power), IN(T, lr),
       IN(T, beta1), IN(T, beta2), IN(T, epsilon), IN(T, grad), OUT(T, var_), OUT(T, m_),
       OUT(T, v_), SIZE(flag)) {
  PLACE(i, g, grad);
  (void)flag;
  const C old = value(beta2) * (C)v[i];
  const C mean = (C)m[i] + (g - (C)m[i]) * (1 - value(beta1));
  const C most = old > fabs(g) ? old : fabs(g);
  m_[i] = (T)mean;
  v_[i] = (T)most;
  var_[i] = (T)((C)var[i] -
               value(lr) / (1 - value(beta1_power)) * (mean / (most + value(epsilon))));
}

UPDATE(ftrl, IN(T, var), IN(T, accum), IN(T, linear), IN(T, grad), IN(T, lr), IN(T, l1),
       IN(T, l2), IN(T, lr_power), OUT(T, var_), OUT(T, accum_), OUT(T, linear_), SIZE(flag)) {
  PLACE(i, g, grad);
  const C old = (C)accum[i];
  C line = (C)linear[i];
  var_[i] = (T)JOIN(ftrl_next, T_NAME)(old, g, g, value(lr), value(l1), value(l2), value(lr_power),
                                      flag != 0, (C)var[i], &line);
  linear_[i] = (T)line;
  accum_[i] = (T)(old + g * g);
}

UPDATE(ftrl_v2, IN(T, var), IN(T, accum), IN(T, linear), IN(T, grad), IN(T, lr), IN(T, l1),
       IN(T, l2), IN(T, l2_shrinkage), IN(T, lr_power), OUT(T, var_), OUT(T, accum_),
       OUT(T, linear_), SIZE(flag)) {
  PLACE(i, g, grad);
  const C old = (C)accum[i], shrunk = g + 2 * value(l2_shrinkage) * (C)var[i];
  C line = (C)linear[i];
  var_[i] = (T)JOIN(ftrl_next, T_NAME)(old, g, shrunk, value(lr), value(l1), value(l2),
                                      value(lr_power), flag != 0, (C)var[i], &line);
  linear_[i] = (T)line;
  accum_[i] = (T)(old + g * g);
}

UPDATE(proximal_gradient_descent, IN(T, var), IN(T, alpha), IN(T, l1), IN(T, l2),
       IN(T, delta), OUT(T, var_), SIZE(flag)) {
  PLACE(i, g, delta);
  (void)flag;
  const C rate = value(alpha);
  var_[i] = (T)JOIN(shrink, T_NAME)((C)var[i] - rate * g, rate, value(l1), value(l2));
}

UPDATE(proximal_adagrad, IN(T, var), IN(T, accum), IN(T, lr), IN(T, l1), IN(T, l2),
       IN(T, grad), OUT(T, var_), OUT(T, accum_), SIZE(flag)) {
  PLACE(i, g, grad);
  (void)flag;
  const C a = (C)accum[i] + g * g;
  const C rate = value(lr) / sqrt(a);
  accum_[i] = (T)a;
  var_[i] = (T)JOIN(shrink, T_NAME)((C)var[i] - rate * g, rate, value(l1), value(l2));
}
