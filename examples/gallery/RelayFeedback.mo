model RelayFeedback "A linear system of third order under relay feedback (Piiroinen and Kuznetsov, 4.2)"
  parameter Real zeta = 0.05, omega = 25, sigma = 1, lambda = 1;
  Real x1(start = 0, fixed = true), x2(start = 0.5, fixed = true), x3(start = 1, fixed = true);
  Real u = -sign(x1) "the relay";
equation
  der(x1) = -(2*zeta*omega + lambda)*x1 + x2 + u;
  der(x2) = -(2*zeta*omega*lambda + omega^2)*x1 + x3 - 2*sigma*u;
  der(x3) = -lambda*omega^2*x1 + u;
  annotation(experiment(StopTime = 8, Tolerance = 1e-10));
end RelayFeedback;
